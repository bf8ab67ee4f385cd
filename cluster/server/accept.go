package server

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// listening is one listener.
type listening struct {
	net.Listener
	addr string

	mu  sync.Mutex
	err error // why it ended; guarded by mu
}

// close closes the listener, for a reason.
func (l *listening) close(why error) error {
	l.end(why)
	if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// end notes why the listener ended; the first reason counts.
func (l *listening) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = why
	}
}

func (l *listening) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// The pauses after an error of accepting that passes, such as having no file descriptor left.
const (
	firstPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// accept serves a listener until it ends.
func (s *Server) accept(l *listening) {
	defer s.running.Done()
	pause := firstPause
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = firstPause
			s.admit(nc)
			continue
		}
		if l.failure() != nil {
			return
		}
		s.totals.acceptErrors.Add(1)
		if !passes(err) {
			s.logger.Error("token server stopped listening", slog.String("address", l.addr), slog.Any("error", err))
			l.end(errors.Join(err, l.Close()))
			return
		}
		s.quiet(&s.said.accept).Warn("token server cannot accept connections for now", slog.String("address", l.addr), slog.Any("error", err))
		if !s.sleep(pause) {
			return
		}
		pause = min(2*pause, mostPause)
	}
}

// passes says whether accepting may work later.
func passes(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// sleep waits, unless the server ends.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ended:
		return false
	}
}

// admit takes a connection in, or closes it if there are too many.
func (s *Server) admit(nc net.Conn) {
	s.totals.accepted.Add(1)
	c := newConn(s, nc)
	s.mu.Lock()
	refusal := s.refusal(c.ip)
	if refusal == nil {
		s.register(c)
	}
	victim := s.waiting.overflow(s.timing.maxWaiting)
	s.mu.Unlock()
	if refusal != nil {
		refusal.Add(1)
		_ = nc.Close() // it was never ours
		return
	}
	if victim != nil {
		victim.end(endCrowded)
	}
	go c.serve()
}

// refusal returns the counter of why a connection is refused, nil if it is not. Caller holds mu.
func (s *Server) refusal(ip netip.Addr) *counter {
	switch {
	case s.state != stateServing:
		return &s.totals.refusedClosing
	case s.maxConns > 0 && len(s.conns) >= s.maxConns:
		return &s.totals.refusedTotal
	case s.maxPerIP > 0 && s.perIP[ip] >= s.maxPerIP:
		return &s.totals.refusedPerIP
	}
	return nil
}

// register notes a connection. Caller holds mu.
func (s *Server) register(c *conn) {
	s.conns[c] = struct{}{}
	s.perIP[c.ip]++
	s.waiting.push(&c.waits)
	s.running.Add(1)
}

// remove forgets a connection that has ended.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	if s.perIP[c.ip]--; s.perIP[c.ip] <= 0 {
		delete(s.perIP, c.ip)
	}
	if c.member != "" {
		if s.members[c.member]--; s.members[c.member] <= 0 {
			delete(s.members, c.member)
		}
	}
	s.waiting.remove(&c.waits)
	s.shaking.remove(&c.shakes)
	s.totals.add(c)
	s.mu.Unlock()
}

// addressOf returns the address that connections are counted by.
func addressOf(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}
