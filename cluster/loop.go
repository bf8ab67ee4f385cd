package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// never is how long the loop waits for a wish while nothing else is to be done.
const never = time.Hour

// retry spaces the attempts to start one role.
type retry struct {
	spec  spec
	delay time.Duration
	at    time.Time // of the next attempt; zero: none failed
}

// run makes the role what the settings demand, until the context ends.
func (m *Member) run(ctx context.Context) {
	defer close(m.ended)
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			m.leave(ctx)
			return
		case <-m.wake:
		case <-timer.C:
		}
		timer.Reset(m.step(ctx))
	}
}

// step brings the roles one step nearer to the settings, and returns after which time to look again at the latest.
func (m *Member) step(ctx context.Context) (again time.Duration) {
	w := m.wish()
	if m.next != nil && m.next.spec != w.spec {
		m.retire(ctx, m.next)
		m.next = nil
	}
	switch {
	case m.current.is(w.spec):
		m.refresh(m.current, w)
		m.retry = retry{}
		m.show(w.spec, m.current, nil)
		return m.watch(ctx)
	case w.mode == ModeNone:
		m.replace(ctx, nil)
		m.retry = retry{}
		m.show(w.spec, nil, nil)
		return never
	case m.next == nil:
		if again := m.begin(ctx, w); m.next == nil {
			return again
		}
	}
	m.refresh(m.next, w)
	if m.current != nil && !m.next.ready() {
		m.show(w.spec, m.next, nil)
		return connectPoll
	}
	next := m.next
	m.next = nil
	m.replace(ctx, next)
	m.show(w.spec, next, nil)
	return m.watch(ctx)
}

// watch looks after the role in force and returns when to do so again.
func (m *Member) watch(ctx context.Context) (again time.Duration) {
	if m.current == nil {
		return never
	}
	again, err := m.current.watch(ctx)
	if err != nil {
		m.config.logger.Warn("The cluster role has failed; it is tried again.", slog.Any("mode", m.current.mode), slog.Any("error", err))
	}
	return again
}

// is says whether the role, nil for none, was started for that.
func (r *running) is(s spec) bool {
	if r == nil {
		return s.mode == ModeNone
	}
	return r.spec == s
}

// begin starts the role that is to come, unless it must wait: for the pause between roles, or after an attempt that
// failed. It returns how long to wait where there is no such role.
func (m *Member) begin(ctx context.Context, w wish) (again time.Duration) {
	if m.retry.spec != w.spec {
		m.retry = retry{spec: w.spec}
	}
	if wait := m.pause(); wait > 0 {
		m.show(w.spec, nil, nil)
		return wait
	}
	m.lastStart = time.Now()
	m.remember()
	var before role
	if m.current != nil {
		before = m.current.role
	}
	next, err := m.start(ctx, w, before)
	if err != nil {
		m.retry.delay = min(max(2*m.retry.delay, leastRetry), mostRetry)
		m.retry.at = time.Now().Add(m.retry.delay)
		m.config.logger.Warn("The cluster role cannot be started; it is tried again.",
			slog.Any("mode", w.mode), slog.String("listen", w.listen), slog.Duration("again_in", m.retry.delay), slog.Any("error", err))
		m.show(w.spec, nil, err)
		return m.retry.delay
	}
	m.next = &running{w.spec, next}
	return 0
}

// pause returns how long the start of a role must wait.
func (m *Member) pause() time.Duration {
	if !m.retry.at.IsZero() {
		return time.Until(m.retry.at)
	}
	if m.lastStart.IsZero() {
		return 0
	}
	return switchPause - time.Since(m.lastStart)
}

func (m *Member) refresh(r *running, w wish) {
	if r == nil {
		return
	}
	if err := r.update(w); err != nil {
		m.config.logger.Error("A cluster setting could not be put into force.", slog.Any("error", err))
	}
}

// remember keeps the connected count of the role in force for the one that follows.
func (m *Member) remember() {
	if m.current == nil {
		return
	}
	if n := m.current.service().Connected(); n > 0 {
		m.connected = n
	}
}

// replace puts a role, nil for none, into force and retires the one before.
func (m *Member) replace(ctx context.Context, next *running) {
	before := m.current
	m.remember()
	var service chain.TokenService
	if next != nil {
		service = next.service()
	}
	if before != nil || next != nil {
		m.engine.SetTokenService(service)
	}
	m.current = next
	m.switched(next)
	if before != nil {
		m.retire(ctx, before)
	}
}

// retire ends a role in the background.
func (m *Member) retire(ctx context.Context, r *running) {
	m.stopping(1)
	m.retired.Go(func() {
		if err := r.stop(ctx); err != nil && ctx.Err() == nil {
			m.config.logger.Warn("A cluster role did not end in good order.", slog.Any("mode", r.mode), slog.Any("error", err))
		}
		m.stopping(-1)
	})
}

// farewell bounds how long the roles may take to end when the member is closed.
const farewell = time.Second

// leave ends all roles, for the context has ended: requests in flight get a moment to be answered.
func (m *Member) leave(ended context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), farewell)
	defer cancel()
	if m.next != nil {
		m.retire(ctx, m.next)
		m.next = nil
	}
	if m.current != nil {
		m.replace(ctx, nil)
	}
	m.retired.Wait()
	m.show(spec{mode: ModeNone}, nil, nil)
}
