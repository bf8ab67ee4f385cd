package circuitbreaker_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

func countRule() circuitbreaker.Rule {
	return circuitbreaker.Rule{Resource: ".*", Regex: true, Grade: circuitbreaker.ErrorCount, MinRequestAmount: 1, TimeWindow: 1}
}

func TestEventTellsWhatHappened(t *testing.T) {
	t.Parallel()
	var j journal
	b := circuitbreaker.NewBreaker(countRule(), "GET:/", j.notify)
	b.Complete(at(5), 0, true, circuitbreaker.Ticket{})
	if len(j.events) != 1 {
		t.Fatalf("%d events, want 1", len(j.events))
	}
	e := j.events[0]
	if e.Resource != "GET:/" || !e.Rule.Equal(countRule()) || !e.Time.Equal(time.Unix(0, at(5))) || e.Cause != "" {
		t.Errorf("event %+v", e)
	}
}

func TestObserverPanicStaysWithTheObserver(t *testing.T) {
	t.Parallel()
	var j journal
	b := circuitbreaker.NewBreaker(countRule(), "r", func(e circuitbreaker.Event) {
		j.notify(e)
		panic("observer")
	})
	b.Complete(at(0), 0, true, circuitbreaker.Ticket{})
	probe, _ := b.Acquire(at(1000))
	b.Complete(at(1000), 0, false, probe)
	j.expect(t, "CLOSED>OPEN=1", "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED")
	if n := b.Status(at(1000)).LostEvents; n != 3 {
		t.Errorf("%d events counted as lost, want 3", n)
	}
}

// An observer may end its goroutine, as a failing test does; later events are still delivered.
func TestObserverGoexit(t *testing.T) {
	t.Parallel()
	var j journal
	first := true
	b := circuitbreaker.NewBreaker(countRule(), "r", func(e circuitbreaker.Event) {
		j.notify(e)
		if first {
			first = false
			runtime.Goexit()
		}
	})
	var done sync.WaitGroup
	done.Go(func() { b.Complete(at(0), 0, true, circuitbreaker.Ticket{}) })
	done.Wait()
	b.Retire(circuitbreaker.CauseRuleRemoved)
	j.expect(t, "CLOSED>OPEN=1", "OPEN>CLOSED(rule removed)")
}

// What an observer causes is delivered after it has returned, in order, and without a deadlock.
func TestObserverUsesTheBreaker(t *testing.T) {
	t.Parallel()
	var b *circuitbreaker.Breaker
	var order []string
	b = circuitbreaker.NewBreaker(countRule(), "r", func(e circuitbreaker.Event) {
		order = append(order, "begin "+e.To.String())
		if e.To == circuitbreaker.Open {
			if b.Status(at(0)).State != circuitbreaker.Open {
				t.Error("delivered before the change")
			}
			probe, _ := b.Acquire(at(1000))
			b.Complete(at(1000), 0, false, probe)
		}
		order = append(order, "end "+e.To.String())
	})
	b.Complete(at(0), 0, true, circuitbreaker.Ticket{})
	want := []string{"begin OPEN", "end OPEN", "begin HALF_OPEN", "end HALF_OPEN", "begin CLOSED", "end CLOSED"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

// A stuck observer holds up nobody but the call that runs it, and what waits is bounded.
func TestStuckObserver(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	seen := 0
	b := circuitbreaker.NewBreaker(countRule(), "r", func(circuitbreaker.Event) {
		once.Do(func() { close(entered); <-release })
		seen++
	})
	var stuck sync.WaitGroup
	stuck.Go(func() { b.Complete(at(0), 0, true, circuitbreaker.Ticket{}) })
	<-entered
	const flaps = 1000
	for range flaps {
		probe, ok := b.Acquire(at(1000))
		if !ok {
			t.Fatal("refused")
		}
		b.GiveBack(probe, at(1000))
	}
	close(release)
	stuck.Wait()
	lost := b.Status(at(1000)).LostEvents
	if seen+int(lost) != 1+2*flaps || lost == 0 {
		t.Errorf("%d events delivered and %d lost of %d", seen, lost, 1+2*flaps)
	}
}

// Events of one breaker follow each other: each starts in the state in which the one before it ended. A breaker has
// fewer of them here than may wait, so that none is lost however long the goroutine that delivers is kept waiting.
func TestEventsAreInOrder(t *testing.T) {
	t.Parallel()
	for range 20 {
		inOrder(t, 4, 120) // at most two events in each of the 480 steps
	}
}

func inOrder(t *testing.T, callers int, steps int64) {
	t.Helper()
	var last circuitbreaker.State
	b := circuitbreaker.NewBreaker(countRule(), "r", func(e circuitbreaker.Event) {
		if e.From != last {
			t.Errorf("%v>%v after a change to %v", e.From, e.To, last)
		}
		last = e.To // no race: one call at a time
	})
	var done sync.WaitGroup
	for g := range callers {
		done.Go(func() {
			for i := range steps {
				now := at(i * 500)
				switch b.Check(now) {
				case circuitbreaker.Pass:
					b.Complete(now, 0, true, circuitbreaker.Ticket{})
				case circuitbreaker.Probe:
					if probe, ok := b.Acquire(now); ok {
						b.Complete(now, 0, g == 0, probe)
					}
				case circuitbreaker.Refuse:
				}
			}
		})
	}
	done.Wait()
	if lost := b.Status(at(0)).LostEvents; lost != 0 {
		t.Errorf("%d events were lost", lost)
	}
	if last != b.State() {
		t.Errorf("last event ends in %v, the breaker in %v", last, b.State())
	}
}
