package tidegate_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

func TestB15BatchOfAHotValue(t *testing.T) {
	t.Parallel()
	batch := func(n int) tidegate.Call {
		return tidegate.Call{Count: n, Args: []tidegate.Arg{tidegate.String("", "a")}}
	}
	g := newStill(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1000,"controlBehavior":2,"maxQueueingTimeMs":5}`)
	g.at(0).call("r", nil, batch(1))
	g.at(10_000).blocked("r", tidegate.ErrParam, batch(15_000))
	g.at(10_001).call("r", nil, batch(1))
	g.at(20_000).call("r", nil, batch(5_000))
}

func TestB23SystemCountsAdmittedCalls(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.SystemRules(), `{"qps":10}`)
	inbound := tidegate.Call{Inbound: true}
	var entries []tidegate.Entry
	for i := range 50 {
		entry, err := g.at(0).enter("r", inbound)
		if (err == nil) != (i < 10) {
			t.Errorf("inbound call %d: %v", i, err)
		}
		entries = append(entries, entry)
	}
	g.blocked("other", tidegate.ErrSystem, inbound)
	for range 5 {
		g.call("r", nil)
	}
	for _, entry := range entries {
		entry.Exit(nil)
	}
	g.idle()
}

func TestB85LoadNotRetrieved(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		tidegate.WithSystemReadings(func() tidegate.SystemReadings { return tidegate.SystemReadings{} }))
	load(t, g.SystemRules(), `{"highestSystemLoad":1}`)
	for second := range int64(100) {
		g.at(second*1000).call("r", nil, tidegate.Call{Inbound: true})
		if second%10 == 0 {
			g.Maintain()
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines > 1 {
		t.Errorf("%d lines logged: %s", lines, log.String())
	}
	if got := g.InactiveSystemLimits(); len(got) != 1 || got[0] != "inactive: load unavailable" {
		t.Errorf("inactive limits %q", got)
	}
}

func TestB91InboundTraffic(t *testing.T) {
	t.Parallel()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	load(t, e.SystemRules(), `{"qps":200}`)
	end := time.Now().Add(400 * time.Millisecond)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for time.Now().Before(end) {
				entry, _ := e.Enter(t.Context(), "r", tidegate.Call{Inbound: true})
				entry.Exit(nil)
			}
		})
	}
	wg.Wait()
	if s := e.InboundStats(); s.Active != 0 || s.TotalPass == 0 || s.PassQPS > 200 {
		t.Errorf("%+v", s)
	}
}
