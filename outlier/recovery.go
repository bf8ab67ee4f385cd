package outlier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// recovery is the background work of a group. All fields but done are guarded by the group's mu or constant.
type recovery struct {
	ctx    context.Context // ended by Close; nil in a zero group
	cancel context.CancelFunc
	closed bool

	looping bool          // the goroutine that waits for the next check is there
	wake    chan struct{} // buffered; tells it that a check came or ended
	running int           // checks at work
	done    sync.WaitGroup
}

// check is the part of a node that recovery uses; guarded by the group's mu.
type check struct {
	waiting  bool // the next check is planned
	running  bool
	due      time.Time // of the planned check, in real time
	failed   int       // checks in a row that failed
	returned time.Time // when the address last came back after a check; zero: never
	err      error     // of the last check
}

// end cancels the plan; what a check that is at work finds is ignored.
func (c *check) end() { c.waiting, c.running = false, false }

func (r *recovery) close(mu *sync.Mutex) {
	mu.Lock()
	r.closed = true
	cancel := r.cancel
	mu.Unlock()
	if cancel != nil {
		cancel()
	}
	r.done.Wait()
}

// scheduleChecks plans the first check of each address that has begun to fail. The caller holds mu.
func (g *Group) scheduleChecks() {
	r := &g.recovery
	if !g.config.ActiveRecovery || r.ctx == nil || r.closed {
		return
	}
	planned := false
	for _, n := range g.failing {
		if n.check.waiting || n.check.running {
			continue
		}
		if now := time.Now(); n.check.returned.IsZero() || now.Sub(n.check.returned) > g.config.forgiveness() {
			n.check.failed, n.check.err = 0, nil
		}
		g.plan(n)
		planned = true
	}
	switch {
	case !planned:
	case r.looping:
		r.signal()
	default:
		r.looping = true
		r.wake = make(chan struct{}, 1)
		r.done.Go(g.watch)
	}
}

// plan sets the time of the next check. The caller holds mu.
func (g *Group) plan(n *node) {
	n.check.waiting = true
	n.check.due = time.Now().Add(g.config.backoff(n.check.failed))
}

func (r *recovery) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// watch starts the checks as they become due, until none is planned or at work.
func (g *Group) watch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, more := g.startDue(time.Now())
		if !more {
			return
		}
		timer.Reset(wait)
		select {
		case <-g.recovery.ctx.Done():
			return
		case <-g.recovery.wake:
		case <-timer.C:
		}
	}
}

// idleWait is how long the goroutine waits when the end of a check will wake it.
const idleWait = time.Hour

// startDue starts what is due, as far as MaxChecks allows, and returns when to look again.
// It returns false if there is nothing left to do.
func (g *Group) startDue(now time.Time) (wait time.Duration, more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &g.recovery
	wait = idleWait
	for _, n := range g.failing {
		if !n.check.waiting {
			continue
		}
		left := n.check.due.Sub(now)
		switch {
		case left > 0:
			wait = min(wait, left)
		case r.running < g.config.MaxChecks && !r.closed:
			n.check.waiting, n.check.running = false, true
			r.running++
			r.done.Go(func() { g.runCheck(n) })
		}
		more = true
	}
	more = (more || r.running > 0) && !r.closed
	r.looping = more
	return wait, more
}

// runCheck checks one address and draws the conclusion, whatever the check does.
func (g *Group) runCheck(n *node) {
	err := errors.New("the check ended its goroutine")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
		if g.conclude(n, err) {
			n.breaker.Retire(CauseRecovered)
		}
	}()
	ctx, cancel := context.WithTimeout(g.recovery.ctx, g.config.CheckTimeout)
	defer cancel()
	err = g.config.Check(ctx, n.address)
}

// conclude reports whether the address has come back; its old breaker is then to be retired.
func (g *Group) conclude(n *node, err error) (back bool) {
	now := g.time.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &g.recovery
	r.running--
	defer r.signal()
	if !n.check.running || r.closed {
		return false
	}
	n.check.running = false
	n.check.err = err
	n.active.Store(now)
	if g.current().byAddress[n.address] != n {
		return false
	}
	if err != nil {
		n.check.failed++
		g.plan(n)
		return false
	}
	fresh := g.renew(n)
	fresh.check.failed, fresh.check.returned = n.check.failed+1, time.Now()
	return true
}
