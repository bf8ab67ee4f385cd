package sourcetest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/tidegate-go/tidegate/datasource"
)

func stateReport(b *bench) {
	b.open(datasource.Policy{})
	if state := b.source.State(); state != (datasource.State{}) {
		b.Errorf("state before Start: %+v, want the zero value", state)
	}
	b.put(docA)
	if err := b.source.Start(b.Context(), b.recorder); err != nil {
		b.Fatalf("Start: %v", err)
	}
	first := b.source.State()
	if first.Updates != 1 || first.Revision == "" || first.LastSuccess.IsZero() || first.LastUpdate.IsZero() {
		b.Errorf("state after Start: %+v, want one update with revision and times", first)
	}
	b.fixture.corrupt(b.T)
	b.failing()
	bad := b.source.State()
	if bad.Updates != 1 || bad.Failures == 0 || bad.LastErrorTime.IsZero() || bad.Revision != first.Revision {
		b.Errorf("state after garbage: %+v, want a failure beside the revision in force", bad)
	}
	b.put(docB)
	b.inForce(docB)
	second := b.source.State()
	if second.Updates != 2 || second.Revision == first.Revision || second.LastSuccess.Before(first.LastSuccess) {
		b.Errorf("state after a change: %+v, before: %+v", second, first)
	}
}

// networkCut: what is in force stays while the source is cut off, and a change made meanwhile is not lost.
func networkCut(b *bench) {
	if b.fixture.Disconnect == nil || b.fixture.Reconnect == nil {
		b.Log("the fixture has no network to cut")
		return
	}
	b.startWith(docA, clearOnDelete)
	b.fixture.Disconnect(b.T)
	b.put(docB)
	if got := b.recorder.InForce(); got != docA {
		b.Errorf("in force while cut off: %q, want %q", got, docA)
	}
	b.fixture.Reconnect(b.T)
	b.inForce(docB)
	if n := b.recorder.Deletions(); n != 0 {
		b.Errorf("rules were taken back %d times", n)
	}
}

// serverRestart: the source finds its server again and sees later changes.
func serverRestart(b *bench) {
	if b.fixture.Restart == nil {
		b.Log("the fixture has no server to restart")
		return
	}
	b.startWith(docA, clearOnDelete)
	b.fixture.Restart(b.T)
	if got := b.recorder.InForce(); got != docA {
		b.Errorf("in force after the restart: %q, want %q", got, docA)
	}
	b.put(docB)
	b.inForce(docB)
}

func startTwice(b *bench) {
	b.startWith(docA, datasource.Policy{})
	if err := b.source.Start(b.Context(), b.recorder); !errors.Is(err, datasource.ErrStarted) {
		b.Errorf("second Start: %v, want ErrStarted", err)
	}
	b.put(docB)
	b.inForce(docB)
}

func closeBeforeStart(b *bench) {
	b.open(datasource.Policy{})
	for range 2 {
		if err := b.source.Close(); err != nil {
			b.Errorf("Close before Start: %v", err)
		}
	}
	if err := b.source.Start(b.Context(), b.recorder); !errors.Is(err, datasource.ErrClosed) {
		b.Errorf("Start after Close: %v, want ErrClosed", err)
	}
	if b.source.Name() == "" {
		b.Error("source has no name")
	}
}

// closeStops: after Close nothing reaches the handler, no goroutine is left, and the state is still readable.
func closeStops(b *bench) {
	b.put(docA)
	b.open(datasource.Policy{})
	before := runtime.NumGoroutine()
	if err := b.source.Start(b.Context(), b.recorder); err != nil {
		b.Fatalf("Start: %v", err)
	}
	for range 2 {
		if err := b.source.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	}
	b.quiet(before)
	if state := b.source.State(); state.Updates != 1 {
		b.Errorf("state after Close: %+v", state)
	}
}

// contextEnds: the end of Start's context stops the source as Close does. There is no Close that would hide a leak.
func contextEnds(b *bench) {
	b.put(docA)
	b.source = b.fixture.New(b.T, datasource.Policy{})
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := b.source.Start(ctx, b.recorder); err != nil {
		b.Fatalf("Start: %v", err)
	}
	cancel()
	b.quiet(before)
}

// quiet sees that the goroutines are gone and that a change does not reach the handler any more.
func (b *bench) quiet(goroutines int) {
	b.Helper()
	if !b.virtual { // a bubble sees for itself that its goroutines have ended
		b.eventually("the source's goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	}
	b.put(docB)
	if b.virtual {
		time.Sleep(b.fixture.within())
	}
	if got := b.recorder.InForce(); got != docA {
		b.Errorf("in force after the end: %q, want %q", got, docA)
	}
}
