//go:build unix

package server

import (
	"io"
	"syscall"
)

// A poller reads a socket, and takes a buffer only once there is something to read. The zero value is not usable.
type poller struct {
	c   *conn
	raw syscall.RawConn
	try func(fd uintptr) bool
	err error // of the latest read
}

func (p *poller) init(c *conn, raw syscall.RawConn) {
	p.c, p.raw, p.try = c, raw, p.attempt
}

func (p *poller) usable() bool { return p.raw != nil }

// read waits until something was read, or nothing ever will be.
func (p *poller) read() error {
	if err := p.raw.Read(p.try); err != nil {
		return err
	}
	return p.err
}

// attempt reads once; false means that there is nothing yet.
func (p *poller) attempt(fd uintptr) bool {
	b := p.c.take()
	for {
		n, err := syscall.Read(int(fd), b.in[b.filled:])
		switch {
		case n > 0:
			b.filled += n
			p.err = nil
			return true
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			p.c.give(b.in[:b.filled])
			return false
		case err == nil:
			err = io.EOF
		}
		p.err = err
		return true
	}
}
