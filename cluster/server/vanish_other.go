//go:build !linux

package server

import "time"

// limitUnacknowledged has no portable form; the system's own limit holds.
func limitUnacknowledged(uintptr, time.Duration) {}
