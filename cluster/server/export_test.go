package server

import (
	"net"
	"net/netip"
	"time"
)

// WithTiming shortens what takes long in the real server. What is 0 stays as it is.
func WithTiming(scan, firstFrame, handshake time.Duration, maxWaiting, maxShaking int) Option {
	return func(s *settings) {
		t := &s.timing
		t.scan, t.firstFrame, t.handshake = or(scan, t.scan), or(firstFrame, t.firstFrame), or(handshake, t.handshake)
		t.maxWaiting, t.maxShaking = or(maxWaiting, t.maxWaiting), or(maxShaking, t.maxShaking)
	}
}

func or[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// SetWaited replaces how the server measures overload. Call it before Listen.
func (s *Server) SetWaited(f func() (time.Duration, bool)) { s.shed.read = f }

// Waited measures overload as the server does.
func (s *Server) Waited() (time.Duration, bool) { return s.shed.waited() }

// AddressOf returns what connections are counted by.
func AddressOf(a net.Addr) netip.Addr { return addressOf(a) }
