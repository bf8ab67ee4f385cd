package datasource_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/datasource/sourcetest"
)

// startFeed starts a feed whose watching does nothing but a first report, and closes it in the end.
func startFeed(t *testing.T, policy datasource.Policy, h datasource.Handler, first string) *datasource.Feed {
	t.Helper()
	feed := datasource.NewFeed("test", policy)
	t.Cleanup(func() { must(t, feed.Close()) })
	must(t, feed.Start(context.Background(), h, func(ctx context.Context) {
		_ = feed.Content(ctx, []byte(first), "1")
		<-ctx.Done()
	}))
	return feed
}

func TestFeedHandlerPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := true
		feed := startFeed(t, datasource.Policy{}, datasource.HandlerFuncs{OnUpdate: func(context.Context, []byte) error {
			if bad {
				panic("oops")
			}
			return nil
		}}, docA)
		if err := feed.State().LastError; err == nil || !strings.Contains(err.Error(), "oops") {
			t.Errorf("state's error %v, want the panic", err)
		}
		bad = false
		if err := feed.Content(context.Background(), []byte(docB), "2"); err != nil || feed.State().Revision != "2" {
			t.Errorf("good content after a panic: %v, state %+v", err, feed.State())
		}
	})
}

// counting is a handler that accepts half of every document.
type counting struct{ datasource.HandlerFuncs }

func (counting) Update(context.Context, []byte) error {
	return &datasource.PartialError{Err: errBadRule}
}

func (counting) RuleCounts() (int, int) { return 3, 1 }

var errBadRule = errors.New("rule 3: count: negative")

func TestFeedPartlyAccepted(t *testing.T) {
	t.Parallel()
	feed := startFeed(t, datasource.Policy{Start: datasource.Require}, counting{}, docA)
	for range 2 { // the second time the content is in force already
		state := feed.State()
		if !errors.Is(state.LastError, errBadRule) || state.Stale || state.Updates != 1 || state.Failures != 0 {
			t.Errorf("state %+v, want the rule's error beside one update", state)
		}
		if state.Accepted != 3 || state.Refused != 1 {
			t.Errorf("%d rules accepted, %d refused, want 3 and 1", state.Accepted, state.Refused)
		}
		must(t, feed.Content(context.Background(), []byte(docA), "1"))
	}
}

func TestFeedDeletedIsRetried(t *testing.T) {
	t.Parallel()
	calls := 0
	feed := startFeed(t, datasource.Policy{Delete: datasource.ClearOnDelete}, datasource.HandlerFuncs{
		OnDeleted: func(context.Context) error {
			if calls++; calls == 1 {
				return errors.New("busy")
			}
			return nil
		},
	}, docA)
	if err := feed.Absent(context.Background()); err == nil || !feed.State().Stale || !feed.State().Deleted {
		t.Errorf("failed deletion: %v, state %+v", err, feed.State())
	}
	for range 2 {
		if err := feed.Absent(context.Background()); err != nil || feed.State().Stale || calls != 2 {
			t.Errorf("deletion: %v after %d calls, state %+v", err, calls, feed.State())
		}
	}
}

func TestFeedConfirm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed := startFeed(t, datasource.Policy{}, &sourcetest.Recorder{}, docA)
		before := feed.State()
		time.Sleep(time.Minute)
		feed.Confirm()
		if got := feed.State(); got.LastSuccess.Sub(before.LastSuccess) != time.Minute || got.LastUpdate != before.LastUpdate {
			t.Errorf("state %+v a minute after %+v", got, before)
		}
		if err := feed.Fail(errBadRule); !errors.Is(err, errBadRule) {
			t.Errorf("Fail returned %v", err)
		}
		failed := feed.State()
		time.Sleep(time.Minute)
		feed.Confirm()
		if got := feed.State(); got != failed {
			t.Errorf("confirmed what is in doubt: %+v", got)
		}
	})
}

// TestFeedStartDeadline: the first read, the handler's call included, has a deadline.
func TestFeedStartDeadline(t *testing.T) {
	t.Parallel()
	for _, policy := range []datasource.StartPolicy{datasource.Optional, datasource.Require} {
		synctest.Test(t, func(t *testing.T) {
			feed := datasource.NewFeed("slow", datasource.Policy{Start: policy, StartTimeout: 2 * time.Second})
			handler := &sourcetest.Recorder{}
			begin := time.Now()
			err := feed.Start(context.Background(), handler, func(ctx context.Context) {
				time.Sleep(time.Minute) // a read that cannot be cancelled
				_ = feed.Content(ctx, []byte(docA), "")
			})
			if took := time.Since(begin); took != 2*time.Second {
				t.Errorf("Start took %v", took)
			}
			if (err != nil) != (policy == datasource.Require) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("policy %d: Start: %v", policy, err)
			}
			if err == nil && !errors.Is(feed.State().LastError, context.DeadlineExceeded) {
				t.Errorf("state's error %v", feed.State().LastError)
			}
			time.Sleep(time.Minute)
			if got := handler.InForce() != ""; got != (err == nil) {
				t.Errorf("policy %d: late content in force: %v", policy, got)
			}
			must(t, feed.Close())
		})
	}
}

func TestFeedStartCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed := datasource.NewFeed("slow", datasource.Policy{})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		err := feed.Start(ctx, &sourcetest.Recorder{}, func(ctx context.Context) { <-ctx.Done() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Start: %v, want Canceled", err)
		}
		must(t, feed.Close())
	})
}

// TestFeedReportsFromAnywhere: reports of several goroutines are taken one at a time, and none after Close.
func TestFeedReportsFromAnywhere(t *testing.T) {
	t.Parallel()
	handler := &sourcetest.Recorder{}
	feed := startFeed(t, datasource.Policy{}, handler, docA)
	var reporters sync.WaitGroup
	for i := range 8 {
		reporters.Go(func() {
			for n := range 200 {
				_ = feed.Content(context.Background(), []byte([]string{docA, docB, half}[(i+n)%3]), "")
				_ = feed.State()
			}
		})
	}
	must(t, feed.Close())
	updates := len(handler.Accepted()) + len(handler.Refused())
	reporters.Wait()
	if handler.Overlapped() {
		t.Error("two handler calls at once")
	}
	if got := len(handler.Accepted()) + len(handler.Refused()); got != updates {
		t.Errorf("%d handler calls after Close", got-updates)
	}
	if err := feed.Fail(errBadRule); !errors.Is(err, datasource.ErrClosed) {
		t.Errorf("report after Close: %v", err)
	}
}

func TestFeedZero(t *testing.T) {
	t.Parallel()
	var none *datasource.Feed
	none.Confirm()
	if err := none.Content(context.Background(), nil, ""); !errors.Is(err, datasource.ErrClosed) {
		t.Errorf("report to nil: %v", err)
	}
	var zero datasource.Feed
	zero.Confirm()
	if err := zero.Absent(context.Background()); !errors.Is(err, datasource.ErrClosed) {
		t.Errorf("report to a feed that was not started: %v", err)
	}
	must(t, zero.Close())
	if err := datasource.NewFeed("x", datasource.Policy{}).Start(context.Background(), counting{}, nil); err == nil {
		t.Error("Start took a nil watch function")
	}
	funcs := datasource.HandlerFuncs{}
	if funcs.Update(context.Background(), nil) != nil || funcs.Deleted(context.Background()) != nil {
		t.Error("the zero HandlerFuncs refuses")
	}
	var partial *datasource.PartialError
	if partial.Error() == "" || partial.Unwrap() != nil {
		t.Error("nil PartialError")
	}
}

// TestFeedCloseWaits: Close returns when no handler call is under way, whoever reported the content.
func TestFeedCloseWaits(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	var finished atomic.Bool
	feed := startFeed(t, datasource.Policy{}, datasource.HandlerFuncs{OnUpdate: func(_ context.Context, content []byte) error {
		if string(content) == docB {
			close(entered)
			<-release
			finished.Store(true)
		}
		return nil
	}}, docA)
	go func() { _ = feed.Content(context.Background(), []byte(docB), "2") }()
	<-entered
	go func() {
		for range 1000 { // long enough for a Close that does not wait to return
			runtime.Gosched()
		}
		close(release)
	}()
	must(t, feed.Close())
	if !finished.Load() {
		t.Error("Close returned while the handler was at work")
	}
}
