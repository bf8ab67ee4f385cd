package tidegate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

func TestB12HotValueQueueAboveAThousandPerSecond(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]int{2000: 1001, 5000: 2501} {
		g := newStill(t)
		load(t, g.ParamRules(), fmt.Sprintf(
			`{"resource":"r","paramIdx":0,"grade":1,"count":%d,"durationInSec":1,"controlBehavior":2,"maxQueueingTimeMs":500}`, count))
		if got := g.count(10_000, "r", args("a")); got < want-1 || got > want+1 {
			t.Errorf("%d per second: %d of 10000 passed, want %d", count, got, want)
		}
	}
}

func TestB49FirstUsersOfAValueCount(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramKey":"k","grade":0,"count":2}`)
	held := []tidegate.Entry{g.pass("r", named("k", true)), g.pass("r", named("k", true))}
	g.blocked("r", tidegate.ErrParam, named("k", true))
	held = append(held, g.pass("r", named("k", false)))
	if s := g.stats("r"); s.Active != 3 {
		t.Errorf("%d in flight, want 3", s.Active)
	}
	for _, entry := range held {
		entry.Exit(nil)
	}
	load(t, g.ParamRules(), `{"resource":"r","paramKey":"k","grade":0,"count":10}`)
	for value := range 50 {
		entries := g.together(20, "r", named("k", value))
		if len(entries) != 10 {
			t.Errorf("value %d: %d of 20 passed at once, want 10", value, len(entries))
		}
		for _, entry := range entries {
			entry.Exit(nil)
		}
	}
	g.idle()
}

// purchase is a request of which a rule looks at one field.
type purchase struct {
	sku string
	_   [64]byte
}

func (o *purchase) ParamKey() any { return o.sku }

func TestB51NoRequestIsKept(t *testing.T) { // not parallel: it looks at the heap
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramKey":"order","grade":0,"count":5}`)
	calls := 1_000_000
	if raceEnabled {
		calls = 50_000
	}
	g.call("r", nil)
	before := heap()
	var gone atomic.Int64
	followed := 0
	for i := range calls {
		o := &purchase{sku: fmt.Sprint("sku", i%100)}
		if i%1000 == 0 {
			followed++
			runtime.AddCleanup(o, func(gone *atomic.Int64) { gone.Add(1) }, &gone)
		}
		g.call("r", nil, named("order", o))
	}
	grown := heap() - before
	for range 10 {
		runtime.GC()
		runtime.Gosched()
	}
	if got := g.ParamStats("r", 1)[0].Values; got != 100 {
		t.Errorf("%d values tracked, want 100", got)
	}
	if grown > 5<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if n := int(gone.Load()); n < followed-1 {
		t.Errorf("%d of %d requests are unreachable, want all", n, followed)
	}
}

func TestB55RuleThatNeverMatches(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	load(t, g.ParamRules(), `{"resource":"/item/{id}","paramKey":"id","count":1}`)
	for i := range 10 { // an adapter that hands over no arguments
		g.at(int64(i)*1000).call("/item/{id}", nil)
	}
	if s := g.ParamStats("/item/{id}", 1)[0]; s.Matched || s.Missed != 10 {
		t.Errorf("%+v", s)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "param_key=id") {
		t.Errorf("logged %q, want one warning", text)
	}
	g.call("/item/{id}", nil, named("id", 7))
	g.blocked("/item/{id}", tidegate.ErrParam, named("id", 7))
	g.call("/item/{id}", nil, named("id", 8))
}

func TestB56RuleWithoutAParameter(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	var rules []hotspot.Rule
	const text = `[{"resource":"r","grade":1,"count":2,"durationInSec":86400},{"resource":"s","paramIdx":0,"grade":1,"count":1,"durationInSec":1}]`
	if err := json.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	report, err := g.ParamRules().Load(rules...)
	if err == nil || !strings.Contains(err.Error(), "param[0] r: refused: paramIdx") {
		t.Errorf("error %v", err)
	}
	if report.Count(chain.Refused) != 1 || report.Rules[0].Member != "paramIdx" || report.Rules[1].Verdict != chain.Loaded {
		t.Errorf("report %v", report.Rules)
	}
	g.call("s", nil, args("a"))
	g.blocked("s", tidegate.ErrParam, args("a"))
}

// panicking is an object whose key cannot be told.
type panicking struct{}

func (panicking) ParamKey() any { panic("no key") }

func TestB57ArgumentsOfAnyType(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1}`, `{"resource":"last","paramIdx":-1,"count":1}`,
		`{"resource":"fifth","paramIdx":5,"count":1}`)
	values := func() int { return g.ParamStats("r", 1)[0].Values }
	skipped := func() int64 { return g.ParamStats("r", 1)[0].Skipped }

	g.call("r", nil, args([]string{"a"}))
	g.blocked("r", tidegate.ErrParam, args([]string{"a"})) // a collection: its elements are values
	before := values()
	unhashable := []any{
		map[string]int{"a": 1},
		struct{ S []int }{[]int{1}},
		func() {},
		[][]int{{1}},
		struct{ F float64 }{math.NaN()},
		struct{ v any }{[]int{1}},
		panicking{},
		[]any{panicking{}},
	}
	for i, v := range unhashable { // skipped and counted
		for range 3 {
			g.call("r", nil, args(v))
		}
		if got := skipped(); got != int64(3*(i+1)) {
			t.Errorf("%T: %d skipped, want %d", v, got, 3*(i+1))
		}
	}
	for _, v := range []any{nil, (*int)(nil), map[string]int(nil), []string(nil), (func())(nil), (*keyed)(nil), []any{}} { // absent
		for range 3 {
			g.call("r", nil, args(v))
		}
	}
	if got := skipped(); got != int64(3*len(unhashable)) {
		t.Errorf("%d skipped, want %d: nil is absent", got, 3*len(unhashable))
	}
	if values() != before {
		t.Errorf("%d values, want %d", values(), before)
	}
	if got := g.count(9, "r", args(math.NaN())); got != 1 || values() != before+1 {
		t.Errorf("%d calls with NaN passed, want 1; %d values", got, values())
	}
	for range 3 {
		g.call("last", nil)
		g.call("fifth", nil, args(1, 2))
	}
	if n := g.Counters().InternalErrors; n != 0 {
		t.Errorf("%d internal errors", n)
	}
	g.idle()
}

func TestB58ItemOfAnotherNumberType(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1,"durationInSec":1,"paramFlowItemList":[{"object":"7","classType":"int","count":100}]}`)
	for _, c := range []struct {
		value      any
		calls, max int
	}{{int64(7), 5, 5}, {"7", 2, 1}, {int32(8), 2, 1}, {uint16(7), 90, 90}} {
		if got := g.count(c.calls, "r", args(c.value)); got != c.max {
			t.Errorf("%T %v: %d of %d passed, want %d", c.value, c.value, got, c.calls, c.max)
		}
	}
}

func TestB73HotValueIsNotSpentByARefusedCall(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":5,"durationInSec":10}`)
	load(t, g.FlowRules(), `{"resource":"r","count":1}`)
	g.at(0).call("r", nil, args("a"))
	for range 4 {
		g.blocked("r", tidegate.ErrFlow, args("a"))
	}
	for _, at := range []int64{1100, 2200, 3300, 4400} {
		g.at(at).call("r", nil, args("a"))
	}
	g.at(5500).blocked("r", tidegate.ErrParam, args("a"))
}
