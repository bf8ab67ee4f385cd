package datasource

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// startTimeout is the default deadline of the first read.
const startTimeout = 5 * time.Second

// A lifecycle is the one run of a source: not started, running, closed.
type lifecycle struct {
	mu     sync.Mutex
	ctx    context.Context // guarded by mu; of the run; nil: not started
	cancel context.CancelFunc
	first  chan error    // result of the first read, one place
	done   chan struct{} // closed when the watching has ended
	closed bool          // guarded by mu
}

// Start hands h to the feed, runs watch on a goroutine of its own and waits for the first report, as Source.Start
// promises. The watch function reports until its context is done and then returns.
func (f *Feed) Start(ctx context.Context, h Handler, watch func(ctx context.Context)) error {
	switch {
	case f == nil:
		return errors.New("data source is nil; make one with its constructor")
	case ctx == nil:
		return f.errorf("context is nil; pass context.Background()")
	case h == nil || watch == nil:
		return f.errorf("handler and watch function must not be nil")
	}
	if err := f.life.begin(ctx, func() { f.handler = h }); err != nil {
		return f.errorf("%w", err)
	}
	go f.life.run(watch)
	return f.await(ctx)
}

// await waits for the first report or the deadline and judges them by the policy.
func (f *Feed) await(ctx context.Context) error {
	timeout := f.policy.StartTimeout
	if timeout <= 0 {
		timeout = startTimeout
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	select {
	case err := <-f.life.first:
		if err == nil || f.policy.Start == Optional && ctx.Err() == nil {
			return nil
		}
		return errors.Join(err, f.Close())
	case <-ctx.Done():
		f.life.end()
		return f.errorf("start: %w", context.Cause(ctx))
	case <-deadline.C:
		err := f.errorf("first read took longer than %v: %w", timeout, context.DeadlineExceeded)
		if f.policy.Start == Optional {
			f.late(err)
			return nil
		}
		f.life.end() // not waited for: the read may hang
		return err
	}
}

// late shows in the state that the first read has not come back, unless it has by now.
func (f *Feed) late(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == (State{}) {
		f.state.LastError, f.state.LastErrorTime = err, time.Now()
	}
}

// Close ends the watching and waits until it has ended and no handler call is running. It may be called at any time
// and again; the error is always nil.
func (f *Feed) Close() error {
	if f == nil {
		return nil
	}
	if done := f.life.end(); done != nil {
		<-done
	}
	f.reports.Lock() // a report from another goroutine may be under way
	defer f.reports.Unlock()
	return nil
}

// begin makes the run's context, unless there is or was a run. It calls prepare first.
func (l *lifecycle) begin(ctx context.Context, prepare func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	case l.ctx != nil:
		return ErrStarted
	case ctx.Err() != nil:
		return fmt.Errorf("start: %w", context.Cause(ctx))
	}
	prepare()
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.first, l.done = make(chan error, 1), make(chan struct{})
	return nil
}

// run watches until the run ends.
func (l *lifecycle) run(watch func(context.Context)) {
	defer close(l.done)
	defer l.cancel()
	watch(l.ctx)
	l.observed(errors.New("watching ended before the first read"))
}

// observed passes the first result on to Start and drops all others.
func (l *lifecycle) observed(err error) {
	select {
	case l.first <- err:
	default:
	}
}

// running reports whether the run is under way.
func (l *lifecycle) running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.ctx != nil && l.ctx.Err() == nil
}

// end closes the run and returns the channel that tells when it has ended, nil if there was none.
func (l *lifecycle) end() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.ctx == nil {
		return nil
	}
	l.cancel()
	return l.done
}
