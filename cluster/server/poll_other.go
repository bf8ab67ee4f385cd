//go:build !unix

package server

import "syscall"

// A poller is not usable on this system: connections keep a small buffer while they wait.
type poller struct{}

func (*poller) init(*conn, syscall.RawConn) {}
func (*poller) usable() bool                { return false }
func (*poller) read() error                 { return nil }
