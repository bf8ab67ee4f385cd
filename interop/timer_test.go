package interop_test

import (
	"sync/atomic"
	"time"
)

// timer gives a script its time, in Unix milliseconds.
type timer interface {
	align(window int64) (start int64) // goes to the start of the next window
	until(at int64) (now int64)       // goes to a time
	now() int64
}

// wallTime is the time of a server that cannot be told another.
type wallTime struct{}

func (wallTime) now() int64 { return time.Now().UnixMilli() }

func (w wallTime) align(window int64) int64 {
	start := (w.now()/window + 1) * window
	w.until(start)
	return start
}

func (w wallTime) until(at int64) int64 {
	time.Sleep(time.Until(time.UnixMilli(at)))
	return w.now()
}

// madeTime is the time of a server of ours: it goes when a script says so.
type madeTime struct{ ns atomic.Int64 }

func newMadeTime() *madeTime {
	m := &madeTime{}
	m.ns.Store(time.Now().UnixNano())
	return m
}

func (m *madeTime) Now() int64 { return m.ns.Load() }

func (m *madeTime) now() int64 { return m.ns.Load() / 1e6 }

func (m *madeTime) align(window int64) int64 {
	return m.until((m.now()/window + 1) * window)
}

func (m *madeTime) until(at int64) int64 {
	m.ns.Store(max(at*1e6, m.ns.Load()))
	return m.now()
}
