package server

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// limited are the warnings that a peer can cause as often as it likes.
type limited struct{ accept, malformed, secret, tls limit }

// A limit lets one line through per second, which says how many were kept back.
type limit struct {
	next atomic.Int64
	kept atomic.Int64
}

// quiet returns where to log a line that may come often: at most one a second gets through.
func (s *Server) quiet(l *limit) *slog.Logger {
	now := int64(time.Since(s.begun))
	if next := l.next.Load(); now < next || !l.next.CompareAndSwap(next, now+int64(time.Second)) {
		l.kept.Add(1)
		return slog.New(slog.DiscardHandler)
	}
	if n := l.kept.Swap(0); n > 0 {
		return s.logger.With(slog.Int64("similar", n))
	}
	return s.logger
}
