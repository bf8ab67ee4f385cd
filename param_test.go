package tidegate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

// args is a call with those arguments, none of them named.
func args(values ...any) tidegate.Call {
	call := tidegate.Call{Args: make([]tidegate.Arg, len(values))}
	for i, v := range values {
		call.Args[i] = tidegate.Any("", v)
	}
	return call
}

// named is a call with one named argument.
func named(name string, value any) tidegate.Call {
	return tidegate.Call{Args: []tidegate.Arg{tidegate.Any(name, value)}}
}

func TestParamByPosition(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"first","paramIdx":0,"count":1}`, `{"resource":"last","paramIdx":-1,"count":1}`,
		`{"resource":"third","paramIdx":-3,"count":1}`)
	g.call("first", nil, args("a", "x"))
	g.blocked("first", tidegate.ErrParam, args("a", "y"))
	g.call("first", nil, args("b", "x"))
	g.call("first", nil)
	g.call("last", nil, args("a"))
	g.blocked("last", tidegate.ErrParam, args("b", "c", "a"))
	g.call("last", nil, args("a", "b"))
	g.call("last", nil)
	for range 3 { // out of range: not applicable, and later calls are resolved anew
		g.call("third", nil, args("a"))
	}
	g.call("third", nil, args("a", "b", "c"))
	g.blocked("third", tidegate.ErrParam, args("x", "a", "b", "c"))
}

func TestParamByName(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramKey":"user","count":1}`)
	call := func(user string) tidegate.Call {
		return tidegate.Call{Args: []tidegate.Arg{tidegate.String("", "user"), tidegate.String("shop", "s"), tidegate.String("user", user)}}
	}
	g.call("r", nil, call("a"))
	g.blocked("r", tidegate.ErrParam, call("a"))
	g.call("r", nil, call("b"))
	g.call("r", nil, named("User", "a"))
	g.call("r", nil, args("a"))
}

// Items of every class, as they come in documents: each gives the value a threshold of its own.
func TestParamItems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		object, class string
		value, other  any
	}{
		{`"7"`, `"int"`, int64(7), "7"},
		{`7`, `"java.lang.Integer"`, uint8(7), 7.0},
		{`"-7"`, `"long"`, -7, "-7"},
		{`"7"`, `"java.lang.Long"`, int8(7), true},
		{`"7"`, `"short"`, 7, "7"},
		{`"7"`, `"java.lang.Byte"`, int16(7), "7"},
		{`"1.5"`, `"double"`, 1.5, "1.5"},
		{`1.5`, `"java.lang.Double"`, float32(1.5), 1},
		{`"0.25"`, `"float"`, 0.25, "0.25"},
		{`"5"`, `"double"`, 5.0, 5},
		{`"TRUE"`, `"boolean"`, true, "TRUE"},
		{`"no"`, `"java.lang.Boolean"`, false, "no"},
		{`"xyz"`, `"char"`, "x", "xyz"},
		{`"a"`, `"java.lang.String"`, "a", "b"},
		{`"a"`, `""`, "a", 1},
		{`"a"`, `"com.example.Own"`, "a", "b"},
	} {
		g := newGuard(t)
		load(t, g.ParamRules(), fmt.Sprintf(
			`{"resource":"r","paramIdx":0,"count":1,"paramFlowItemList":[{"object":%s,"classType":%s,"count":3}]}`, c.object, c.class))
		if got := g.count(9, "r", args(c.value)); got != 3 {
			t.Errorf("%s %s: %d of 9 passed for %v, want 3", c.class, c.object, got, c.value)
		}
		if got := g.count(9, "r", args(c.other)); got != 1 {
			t.Errorf("%s %s: %d of 9 passed for %v (%T), want 1", c.class, c.object, got, c.other, c.other)
		}
	}
}

func TestParamItemsOverride(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":2,"paramFlowItemList":[{"object":"a","count":5},{"object":"a","count":0},`+
		`{"object":"b","count":-1},{"object":"c","classType":"int","count":9},{"object":"c"},{"count":3}]}`)
	for value, want := range map[any]int{"a": 0, "b": 2, "c": 2, "d": 2} {
		if got := g.count(9, "r", args(value)); got != want {
			t.Errorf("%v: %d of 9 passed, want %d", value, got, want)
		}
	}
}

// keyed is an object that names its own value.
type keyed struct {
	id    any
	bytes []byte
}

func (k keyed) ParamKey() any { return k.id }

func TestParamObjectsAndCollections(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1}`)
	g.call("r", nil, args(keyed{id: "a", bytes: []byte("1")}))
	g.blocked("r", tidegate.ErrParam, args(&keyed{id: "a", bytes: []byte("2")}))
	g.blocked("r", tidegate.ErrParam, args("a"))
	g.blocked("r", tidegate.ErrParam, args([]any{keyed{id: "a"}}))

	g.blocked("r", tidegate.ErrParam, args([]string{"b", "a"})) // all or nothing: b is not charged
	g.call("r", nil, args([]any{"b", nil, 1}))
	g.blocked("r", tidegate.ErrParam, args([2]int{2, 1}))
	g.call("r", nil, args([]int{2}))
	g.call("r", nil, args([]int(nil)))
	g.call("r", nil, args([]any{nil}))

	g.call("r", nil, args(struct{ a, b int }{1, 2}))
	g.blocked("r", tidegate.ErrParam, args(struct{ a, b int }{1, 2}))
	g.call("r", nil, args(struct{ a, b int }{1, 3}))
	g.idle()
}

func TestParamBurstAndDuration(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"burst","paramIdx":0,"count":2,"burstCount":3}`, `{"resource":"long","paramIdx":0,"count":4,"durationInSec":10}`)
	for _, c := range []struct {
		at       int64
		resource string
		want     int
	}{
		{0, "burst", 5},
		{1000, "burst", 0}, // refilled strictly after a duration
		{1001, "burst", 2},
		{9000, "burst", 5},
		{9000, "long", 4},
		{19_000, "long", 0},
		{19_001, "long", 4},
	} {
		if got := g.at(c.at).count(9, c.resource, args("a")); got != c.want {
			t.Errorf("+%d %s: %d of 9 passed, want %d", c.at, c.resource, got, c.want)
		}
	}
}

func TestParamCountsUnits(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":5}`, `{"resource":"zero","paramIdx":0,"count":0}`)
	call := args("a")
	call.Count = 3
	g.call("r", nil, call)
	g.blocked("r", tidegate.ErrParam, call)
	g.call("r", nil, tidegate.Call{Args: call.Args, Count: 2})
	g.call("r", nil, tidegate.Call{Args: call.Args, Free: true})
	call.Count = math.MaxInt
	g.blocked("r", tidegate.ErrParam, call)
	g.blocked("zero", tidegate.ErrParam, tidegate.Call{Args: call.Args, Free: true})
}

func TestParamThrottling(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":4,"controlBehavior":2,"maxQueueingTimeMs":600}`)
	for i, want := range []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond} {
		entry := g.at(0).pass("r", args("a"))
		if got := entry.Waited(); got != want {
			t.Errorf("call %d waited %v, want %v", i, got, want)
		}
		entry.Exit(nil)
	}
	blocked := g.refusal("r", tidegate.ErrParam, args("a"))
	if x := blocked.Explain(); x.Measured != 750 || x.Limit != 600 || x.Unit != "ms in queue" || x.RetryAfter <= 0 {
		t.Errorf("%+v", x)
	}
	if w := g.pass("r", args("b")).Waited(); w != 0 {
		t.Errorf("another value waited %v", w)
	}

	// A caller that gives up leaves its place to the next.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.at(10_000).call("r", nil, args("a"))
	_, err := g.Enter(ctx, "r", args("a"))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, tidegate.ErrBlocked) {
		t.Errorf("%v", err)
	}
	if w := g.pass("r", args("a")).Waited(); w != 250*time.Millisecond {
		t.Errorf("waited %v, want 250ms", w)
	}
}

// What the last check of all took of a value comes back if the call then leaves its queue, one that an earlier check put
// it in, or is refused by a check that came with a reload; what a call that ran has taken does not.
func TestParamTokensComeBack(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	g := newStill(t)
	load(t, g.GatewayRules(), `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeoutMs":60000}`)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":3}`)
	call := tidegate.Call{Args: append(carrying("ip", "a").call().Args, args("v").Args...)}
	g.call("r", nil, call)
	for range 5 {
		if _, err := g.Enter(gone, "r", call); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want that the caller has left the gateway rule's queue", err)
		}
	}
	load(t, g.GatewayRules())
	load(t, g.FlowRules(), `{"resource":"r","count":0}`)
	for range 5 {
		g.blocked("r", tidegate.ErrFlow, call)
	}
	load(t, g.FlowRules())
	g.call("r", nil, call)
	g.call("r", nil, call)
	g.blocked("r", tidegate.ErrParam, call)
}

func TestParamConcurrency(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"grade":0,"count":2,"paramFlowItemList":[{"object":"v","count":1}]}`)
	load(t, g.FlowRules(), `{"resource":"r","count":0,"limitApp":"late"}`)
	a, b := g.pass("r", args("a")), g.pass("r", args("a"))
	blocked := g.refusal("r", tidegate.ErrParam, args("a"))
	if x := blocked.Explain(); x.Measured != 2 || x.Limit != 2 || x.Unit != "calls in flight" {
		t.Errorf("%+v", x)
	}
	v := g.pass("r", args("v"))
	g.blocked("r", tidegate.ErrParam, args("v"))
	a.Exit(nil)
	a.Exit(nil)
	refusedLater := args("a")
	refusedLater.Origin, refusedLater.Count = "late", 3
	for range 5 { // the flow rule refuses: the place is given back
		g.blocked("r", tidegate.ErrFlow, refusedLater)
	}
	c := g.pass("r", args("a"))
	g.blocked("r", tidegate.ErrParam, args("a"))
	for _, entry := range []tidegate.Entry{b, c, v} {
		entry.Exit(errCall)
	}
	for _, s := range g.ParamStats("r", 10) {
		for _, top := range s.Top {
			if want := map[string]float64{"a": 3, "v": 1}[top.Text]; top.QPS != want { // of calls let in
				t.Errorf("%v: %v a second, want %v", top.Value, top.QPS, want)
			}
			if top.InFlight != 0 {
				t.Errorf("%v: %d in flight", top.Value, top.InFlight)
			}
		}
	}
	g.idle()
}

// A live entry keeps its own arguments: what the caller does with the slice, or the rule's reload, is no matter.
func TestParamEntryKeepsItsArguments(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	rule := `{"resource":"r","paramIdx":0,"grade":0,"count":1}`
	load(t, g.ParamRules(), rule)
	call := args("a")
	entry := g.pass("r", call)
	call.Args[0] = tidegate.String("", "b")
	load(t, g.ParamRules(), `{"resource":"other","paramIdx":0,"count":1}`, rule)
	g.blocked("r", tidegate.ErrParam, args("a"))
	load(t, g.ParamRules())
	entry.Exit(nil)
	load(t, g.ParamRules(), rule)
	g.call("r", nil, args("a"))
	g.call("r", nil, args("b"))
}

func TestParamObserveAndSwitch(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"o","paramIdx":0,"count":1,"mode":"observe"}`, `{"resource":"c","paramIdx":0,"grade":0,"count":1,"mode":"observe"}`,
		`{"resource":"r","paramIdx":0,"count":2}`)
	if got := g.count(5, "o", args("a")); got != 5 || g.WouldBlock("o") != 4 || g.stats("o").TotalBlock != 0 {
		t.Errorf("%d passed, %d would have been refused", got, g.WouldBlock("o"))
	}
	held := g.pass("c", args("a"))
	g.call("c", nil, args("a"))
	if g.WouldBlock("c") != 1 {
		t.Errorf("%d would have been refused, want 1", g.WouldBlock("c"))
	}
	held.Exit(nil)
	g.call("c", nil, args("a"))
	if g.WouldBlock("c") != 1 {
		t.Error("a place was not freed")
	}

	g.call("r", nil, args("a"))
	g.SetKindEnabled(chain.KindParam, false)
	g.call("r", nil, args("a"))
	if len(g.ParamRules().Rules()) != 0 {
		t.Error("rules are in force")
	}
	g.SetKindEnabled(chain.KindParam, true) // the table is as before
	g.call("r", nil, args("a"))
	g.blocked("r", tidegate.ErrParam, args("a"))
}

func TestParamReload(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	rule := `{"resource":"r","paramIdx":0,"count":1,"durationInSec":60,"paramFlowItemList":[{"object":"x","count":5}]}`
	pattern := `{"resource":"p.*","regex":true,"paramIdx":0,"count":1,"durationInSec":60}`
	load(t, g.ParamRules(), rule, pattern)
	g.call("r", nil, args("a"))
	g.call("p1", nil, args("a"))
	load(t, g.ParamRules(), pattern, `{"resource":"r","paramIdx":1,"count":1}`, rule[:len(rule)-1]+`,"id":7,"description":"the same"}`)
	g.blocked("r", tidegate.ErrParam, args("a"))
	g.blocked("p1", tidegate.ErrParam, args("a"))
	g.call("p2", nil, args("a"))
	load(t, g.ParamRules(), strings.Replace(rule, `"count":1,`, `"count":2,`, 1))
	if got := g.count(5, "r", args("a")); got != 2 {
		t.Errorf("%d passed under the changed rule, want 2", got)
	}
	g.call("p1", nil, args("a"))
}

// A rule that never found its argument is seen in the status and warned of once, also for a pattern on many resources.
func TestParamNeverMatched(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	load(t, g.ParamRules(), `{"resource":"r.*","regex":true,"paramIdx":-2,"count":1}`)
	for i := range 50 {
		g.call(fmt.Sprint("r", i%5), nil, args("a"))
	}
	s := g.ParamStats("r0", 5)
	if len(s) != 1 || s[0].Matched || s[0].Missed != 10 || s[0].Values != 0 || s[0].Rule.Resource != "r.*" {
		t.Errorf("%+v", s)
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "param_idx=-2") || !strings.Contains(text, "r0") {
		t.Errorf("logged %q", text)
	}
	load(t, g.ParamRules(), `{"resource":"r.*","regex":true,"paramIdx":-2,"count":1}`)
	g.call("r0", nil, args("a"))
	if log.String() != text {
		t.Error("warned again after a reload of the same rule")
	}
	g.call("r0", nil, args("a", "b"))
	if s := g.ParamStats("r0", 5); !s[0].Matched || s[0].Values != 1 {
		t.Errorf("%+v", s)
	}
	load(t, g.ParamRules(), `{"resource":"k","paramKey":"user","count":1}`)
	g.call("k", nil)
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "param_key=user") {
		t.Errorf("logged %q", got)
	}
}

func TestParamTop(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":100,"paramFlowItemList":[{"object":"b","count":200}]}`)
	for value, n := range map[string]int{"a": 5, "b": 9, "c": 1} {
		g.count(n, "r", args(value))
	}
	g.at(1000)
	top := g.ParamStats("r", 2)[0].Top
	if len(top) != 2 || top[0].Text != "b" || top[0].QPS != 9 || top[0].Threshold != 200 || top[1].Text != "a" || top[1].QPS != 5 {
		t.Errorf("%+v", top)
	}
	if g.ParamStats("nobody", 5) != nil {
		t.Error("a resource that nobody called has figures")
	}
}

func TestParamClusterFallsBack(t *testing.T) {
	t.Parallel()
	for fallback, want := range map[string]int{
		``:                                            2,
		`,"fallbackToLocalWhenFail":true`:             2,
		`,"fallbackToLocalWhenFail":false`:            9,
		`,"fallbackPolicy":"pass"`:                    9,
		`,"fallbackPolicy":"block"`:                   0,
		`,"fallbackPolicy":"share"`:                   2,
		`,"fallbackPolicy":"local"`:                   2,
		`,"fallbackPolicy":"local","fallbackCount":4`: 4,
	} {
		g := newGuard(t)
		load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":2,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1`+fallback+`}}`)
		if got := g.count(9, "r", args("a")); got != want {
			t.Errorf("%s: %d of 9 passed, want %d", fallback, got, want)
		}
		if got := g.count(3, "r"); got != 3 {
			t.Errorf("%s: %d of 3 calls without the argument passed", fallback, got)
		}
	}
}

func TestParamExplain(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":2,"durationInSec":5}`)
	g.at(100).count(2, "r", args("a"))
	blocked := g.at(1100).refusal("r", tidegate.ErrParam, args("a"))
	x := blocked.Explain()
	if x.Measured != 2 || x.Limit != 2 || x.Window != 5*time.Second || x.RetryAfter != 4001*time.Millisecond {
		t.Errorf("%+v", x)
	}
	if rule, ok := blocked.Rule.(hotspot.Rule); !ok || rule.Resource != "r" || blocked.Kind != chain.KindParam {
		t.Errorf("%+v", blocked)
	}
}

// Eight callers, ten thousand calls each, one value, one place: never two in flight, none at the end.
func TestParamConcurrencyIsExact(t *testing.T) {
	t.Parallel()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	load(t, e.ParamRules(), `{"resource":"r","paramKey":"k","grade":0,"count":1}`)
	calls := 10_000
	if raceEnabled {
		calls = 2000
	}
	var inside, most, passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			call := tidegate.Call{Args: []tidegate.Arg{tidegate.String("k", "the one")}}
			for i := range calls {
				entry, err := e.Enter(t.Context(), "r", call)
				if err != nil {
					continue
				}
				passed.Add(1)
				if n := inside.Add(1); n > 1 {
					most.Store(n)
				}
				if i%64 == 0 {
					runtime.Gosched()
				}
				inside.Add(-1)
				entry.Exit(nil)
			}
		})
	}
	wg.Wait()
	s := e.ParamStats("r", 1)[0]
	if most.Load() > 1 || passed.Load() == 0 || s.Top[0].InFlight != 0 {
		t.Errorf("%d in flight at most, %d passed, %d at the end", most.Load(), passed.Load(), s.Top[0].InFlight)
	}
	if st, _ := e.ResourceStats("r"); st.Active != 0 {
		t.Errorf("%d calls in flight at the end", st.Active)
	}
}

// A million values, each seen once, go through a table that keeps its size, its memory and the value seen often.
func TestParamMillionValues(t *testing.T) { // not parallel: it looks at the heap
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1000000,"durationInSec":86400,"paramsMaxCapacity":5000,`+
		`"paramFlowItemList":[{"object":"frequent","count":200}]}`)
	values, every := 1_000_000, 500
	if raceEnabled {
		values = 60_000
	}
	round := func(from, to int) (frequent int) {
		for i := from; i < to; i++ {
			entry, _ := g.enter("r", tidegate.Call{Args: []tidegate.Arg{tidegate.Int("", i)}})
			entry.Exit(nil)
			if i%every == 0 {
				frequent += g.count(1, "r", tidegate.Call{Args: []tidegate.Arg{tidegate.String("", "frequent")}})
			}
		}
		return frequent
	}
	seen := round(0, values/10)
	before := heap()
	seen += round(values/10, values)
	grown := heap() - before
	s := g.ParamStats("r", 1)[0]
	if s.Values > 5000 || s.Values < 4000 || s.Evicted < int64(values)-6000 {
		t.Errorf("%d values kept, %d evicted", s.Values, s.Evicted)
	}
	if seen != min(200, values/every) { // forgotten, it would start anew with all its tokens
		t.Errorf("the frequent value passed %d times of %d, want %d", seen, values/every, min(200, values/every))
	}
	if grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}
