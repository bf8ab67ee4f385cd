package tidegate

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Counters count what should not happen, since the engine was made.
type Counters struct {
	InternalErrors   int64 // panics of checks, callbacks and classifiers; the call went on
	ResourceOverflow int64 // calls of names beyond the cap on resources
	OriginOverflow   int64 // calls of origins beyond the cap of their resource
	ContextOverflow  int64 // new names of contexts beyond the cap
}

type counters struct {
	internal, resourceOverflow, originOverflow atomic.Int64
}

// Counters returns the engine's counters.
func (e *Engine) Counters() Counters {
	if !e.made() {
		return Counters{}
	}
	return Counters{
		InternalErrors: e.counters.internal.Load(), ResourceOverflow: e.counters.resourceOverflow.Load(),
		OriginOverflow: e.counters.originOverflow.Load(), ContextOverflow: e.tree.Overflowed(),
	}
}

// guard runs f; a panic is counted, logged and ends there.
func (e *Engine) guard(what string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			e.failed(what, fmt.Errorf("panic: %v", p))
		}
	}()
	f()
}

// failed counts and logs an internal error, after which the engine goes on.
func (e *Engine) failed(what string, err error) {
	e.counters.internal.Add(1)
	e.log.warnOf(what, "internal error; the engine goes on", "in", what, "error", err)
}

// mostSubjects bounds what a limitedLog remembers.
const mostSubjects = 100

// limitedLog logs each message at most once a minute.
type limitedLog struct {
	to   *slog.Logger
	mu   sync.Mutex
	last map[string]time.Time // by message; guarded by mu
}

func (l *limitedLog) warn(message string, args ...any) { l.warnOf(message, message, args...) }

// warnOf logs what is said about one subject at most once a minute.
func (l *limitedLog) warnOf(subject, message string, args ...any) {
	if !l.due(subject) {
		return
	}
	l.to.Warn(message, args...) //nolint:sloglint // the callers give literals
}

func (l *limitedLog) due(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if last, ok := l.last[message]; ok && now.Sub(last) < time.Minute {
		return false
	}
	if l.last == nil || len(l.last) >= mostSubjects {
		l.last = map[string]time.Time{}
	}
	l.last[message] = now
	return true
}
