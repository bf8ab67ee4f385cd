package tidegate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

// draw writes the invocation tree as entrance(a(b c)).
func draw(nodes []tidegate.TreeNode) string {
	var list []string
	for _, n := range nodes {
		text := n.Name
		if len(n.Children) > 0 {
			text += "(" + draw(n.Children) + ")"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (g guard) expectTree(want string) {
	g.t.Helper()
	if got := draw(g.Tree()); got != want {
		g.t.Errorf("tree %s, want %s", got, want)
	}
}

func (g guard) under(ctx context.Context, resource string, calls ...tidegate.Call) (context.Context, tidegate.Entry) {
	g.t.Helper()
	var call tidegate.Call
	if len(calls) > 0 {
		call = calls[0]
	}
	entry, err := g.Enter(ctx, resource, call)
	if err != nil {
		g.t.Fatal(err)
	}
	return tidegate.ContextWith(ctx, entry), entry
}

func TestInvocationTree(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	ctx := tidegate.WithEntrance(t.Context(), "web")
	inA, a := g.under(ctx, "a")
	inB, b := g.under(inA, "b")
	_, c := g.under(inB, "c")
	_, d := g.under(inA, "d")
	_, plain := g.under(t.Context(), "a")
	g.expectTree("sentinel_default_context(a) web(a(b(c) d))")
	_, again := g.under(ctx, "c") // first seen below b: stays there
	g.expectTree("sentinel_default_context(a) web(a(b(c) d))")
	for _, entry := range []tidegate.Entry{a, b, c, d, plain, again} {
		entry.Exit(nil)
	}
	if s, ok := g.EntranceStats("web"); !ok || s.TotalPass != 1 {
		t.Errorf("the entrance counts %+v, want its direct child a", s)
	}
	if s, ok := g.EntranceStats(""); !ok || s.TotalPass != 1 {
		t.Errorf("the default entrance counts %+v", s)
	}
	if s, ok := g.ContextStats("c", "web"); !ok || s.TotalPass != 2 {
		t.Errorf("c in web: %+v", s)
	}
	if _, ok := g.ContextStats("c", ""); ok {
		t.Error("c was never called in the default context")
	}
	if _, ok := g.EntranceStats("nobody"); ok {
		t.Error("an entrance that nobody used")
	}
	g.idle()
}

func TestParentThatHasExited(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	ctx, a := g.under(tidegate.WithOrigin(t.Context(), "app"), "a")
	a.Exit(nil)
	_, b := g.under(ctx, "b")
	if tidegate.ContextWith(t.Context(), a) != t.Context() {
		t.Error("an entry that has exited became a parent")
	}
	b.Exit(nil)
	g.expectTree("sentinel_default_context(a(b))")
	if s, ok := g.OriginStats("b", "app"); !ok || s.TotalPass != 1 {
		t.Error("the origin is lost")
	}
	g.idle()
}

func TestScopePrecedence(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	ctx := tidegate.WithEntrance(tidegate.WithOrigin(t.Context(), "app"), "web")
	ctx = tidegate.WithEntrance(ctx, "second") // the first name wins
	ctx, entry := g.under(ctx, "r")
	entry.Exit(nil)
	_, own := g.under(ctx, "own", tidegate.Call{Origin: "mine", Entrance: "job"})
	own.Exit(nil)
	_, changed := g.under(tidegate.WithOrigin(ctx, "new"), "changed")
	changed.Exit(nil)
	for _, c := range []struct{ resource, origin, entrance string }{
		{"r", "app", "web"}, {"own", "mine", "job"}, {"changed", "new", "web"},
	} {
		if s, ok := g.OriginStats(c.resource, c.origin); !ok || s.TotalPass != 1 || len(g.Origins(c.resource)) != 1 {
			t.Errorf("%s: origins %v, want %s", c.resource, g.Origins(c.resource), c.origin)
		}
		if s, ok := g.ContextStats(c.resource, c.entrance); !ok || s.TotalPass != 1 {
			t.Errorf("%s is not in context %s", c.resource, c.entrance)
		}
	}
	// Another entrance has a tree of its own.
	g.expectTree("job(own) web(r(changed))")
	if tidegate.OriginFrom(ctx) != "app" || tidegate.OriginFrom(context.Background()) != "" {
		t.Error("OriginFrom")
	}
}

func TestStatisticsOfACall(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":2}`)
	call := tidegate.Call{Inbound: true, Origin: "app", Entrance: "web"}
	g.at(0)
	a, b := g.pass("r", call), g.pass("r", call)
	g.blocked("r", tidegate.ErrFlow, call)
	g.at(100)
	a.Exit(errCall)
	for name, get := range map[string]func() (tidegate.Snapshot, bool){
		"resource": func() (tidegate.Snapshot, bool) { return g.ResourceStats("r") },
		"context":  func() (tidegate.Snapshot, bool) { return g.ContextStats("r", "web") },
		"origin":   func() (tidegate.Snapshot, bool) { return g.OriginStats("r", "app") },
		"inbound":  func() (tidegate.Snapshot, bool) { return g.InboundStats(), true },
	} {
		s, ok := get()
		if !ok || s.PassQPS != 2 || s.BlockQPS != 1 || s.TotalQPS != 3 || s.SuccessQPS != 1 || s.ExceptionQPS != 1 || s.Active != 1 ||
			s.AvgRT != 100 || s.MinRT != 100 || s.TotalRequest != 3 || s.MaxSuccessQPS != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	b.Exit(nil)
	g.idle()
	if s := g.InboundStats(); s.TotalPass != 2 {
		t.Errorf("inbound %+v", s)
	}
	g.call("out", nil)
	if s := g.InboundStats(); s.TotalPass != 2 {
		t.Error("an outbound call was counted as inbound")
	}
	if _, ok := g.ResourceStats("nobody"); ok {
		t.Error("figures of a resource that nobody called")
	}
	if _, ok := g.OriginStats("r", "nobody"); ok {
		t.Error("figures of an origin that never called")
	}
}

func TestSetWindow(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":10}`)
	g.at(0).count(20, "r")
	if err := g.SetWindow(4e9, 4); err != nil {
		t.Fatal(err)
	}
	if got := g.count(100, "r"); got != 37 { // n/4 + 1 <= 10
		t.Errorf("%d passed in the new window of 4 s, want 37", got)
	}
	if got := g.at(3_999).count(100, "r"); got != 0 {
		t.Errorf("%d more passed within it", got)
	}
	if got := g.at(4_000).count(100, "r"); got != 37 {
		t.Errorf("%d passed when it was over, want 37", got)
	}
	if s := g.stats("r"); s.PassQPS != 37/4.0 || s.TotalPass != 10+37+37 {
		t.Errorf("%+v", s)
	}
	for _, wrong := range []struct {
		interval time.Duration
		buckets  int
	}{{0, 1}, {-1e9, 2}, {1e9, 0}, {1e9, 3}, {1, 1}} {
		if err := g.SetWindow(wrong.interval, wrong.buckets); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
	if s := g.stats("r"); s.PassQPS != 37/4.0 {
		t.Error("a refused window changed the counts")
	}
}

func TestOccupyTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		timeout int64 // ms
		at      int64
		pass    bool
	}{{500, 600, true}, {500, 500, false}, {300, 600, false}, {300, 701, true}, {300, 700, false}, {0, 999, false}} {
		g := newGuard(t)
		if err := g.SetOccupyTimeout(msec(c.timeout)); err != nil {
			t.Fatal(err)
		}
		load(t, g.FlowRules(), `{"resource":"r","count":2}`)
		g.at(0).count(2, "r")
		entry, err := g.at(c.at).enter("r", tidegate.Call{Prioritized: true})
		if (err == nil) != c.pass {
			t.Errorf("timeout %d ms at +%d: %v", c.timeout, c.at, err)
		}
		if want := msec(1000 - c.at); c.pass && entry.Waited() != want {
			t.Errorf("timeout %d ms at +%d: waited %v, want %v", c.timeout, c.at, entry.Waited(), want)
		}
		entry.Exit(nil)
	}
	g := newGuard(t)
	for _, wrong := range []int64{-1, 1001} {
		if err := g.SetOccupyTimeout(msec(wrong)); err == nil {
			t.Errorf("%d ms was accepted", wrong)
		}
	}
	if err := g.SetWindow(msec(200), 2); err != nil {
		t.Fatal(err)
	}
	if err := g.SetOccupyTimeout(msec(201)); err == nil {
		t.Error("longer than the window was accepted")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]tidegate.Option{
		"window":     tidegate.WithWindow(1e9, 3),
		"occupy":     tidegate.WithOccupyTimeout(-1),
		"occupy > 1": tidegate.WithOccupyTimeout(2e9),
		"cold":       tidegate.WithColdFactor(1),
		"rt":         tidegate.WithMaxRT(0),
		"resources":  tidegate.WithMaxResources(0),
		"origins":    tidegate.WithMaxOrigins(-1),
		"contexts":   tidegate.WithMaxContexts(0),
		"idle":       tidegate.WithIdleTimeout(1),
		"app":        tidegate.WithAppName(""),
		"check":      tidegate.WithCheck(nil),
	} {
		e, err := tidegate.New(option)
		if err == nil || e != nil || !strings.HasPrefix(err.Error(), "making an engine: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, err := tidegate.New(nil, tidegate.WithAppName("shop"), tidegate.WithInstance("one"), tidegate.WithLogger(nil), tidegate.WithClock(nil),
		tidegate.WithClassifier(nil), tidegate.WithMaxRT(3e9), tidegate.WithWindow(2e9, 4))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.AppName() != "shop" || e.Instance() != "one" || e.Logger() == nil {
		t.Errorf("%s %s", e.AppName(), e.Instance())
	}
	entry, _ := e.Enter(t.Context(), "r", tidegate.Call{})
	defer entry.Exit(nil)
	if s, _ := e.ResourceStats("r"); s.MinRT != 3000 || s.PassQPS != 0.5 || s.MaxSuccessQPS != 2 {
		t.Errorf("%+v", s)
	}
}

// Engines share nothing: a context of one engine's entry gives another only the names it carries.
func TestContextOfAnotherEngine(t *testing.T) {
	t.Parallel()
	one, _ := newEngine(t)
	two, _ := newEngine(t)
	outer, err := one.Enter(tidegate.WithEntrance(t.Context(), "web"), "outer", tidegate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Exit(nil)
	inner, err := two.Enter(tidegate.ContextWith(t.Context(), outer), "inner", tidegate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Exit(nil)
	for _, entrance := range one.Tree() {
		for _, node := range entrance.Children {
			if len(node.Children) != 0 {
				t.Errorf("%s of the first engine has children %v", node.Name, node.Children)
			}
		}
	}
	if s, ok := two.EntranceStats("web"); !ok || s.Active != 1 {
		t.Errorf("the second engine's entrance: %v %+v", ok, s)
	}
}

// Nodes that housekeeping took away are not counted in any more, though the calls before found them.
func TestNodesThatCameBackCount(t *testing.T) {
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":1000}`) // keeps the resource
	call := tidegate.Call{Origin: "app", Entrance: "web"}
	for round := range int64(3) {
		g.at(round * 3_600_000)
		for range 5 {
			g.call("r", nil, call)
		}
		origin, _ := g.OriginStats("r", "app")
		web, _ := g.ContextStats("r", "web")
		if origin.TotalPass != 5 || web.TotalPass != 5 {
			t.Errorf("round %d: the origin passed %d, the context %d, want 5", round, origin.TotalPass, web.TotalPass)
		}
		g.at(round*3_600_000 + 1_800_000)
		g.Maintain()
		if origins := g.Origins("r"); len(origins) != 0 {
			t.Fatalf("round %d: the origins %v are still there", round, origins)
		}
	}
}

// Of one resource, calls with names that come in turn are counted by their own.
func TestNamesInTurn(t *testing.T) {
	g := newGuard(t, tidegate.WithMaxOrigins(2))
	for _, origin := range []string{"a", "a", "b", "", "a", "c", "c", "d", "b", "c"} {
		g.call("r", nil, tidegate.Call{Origin: origin})
	}
	for origin, want := range map[string]int64{"a": 3, "b": 2, "__overflow__": 4} {
		if s, _ := g.OriginStats("r", origin); s.TotalPass != want {
			t.Errorf("%q passed %d, want %d", origin, s.TotalPass, want)
		}
	}
	if n := g.Counters().OriginOverflow; n != 4 {
		t.Errorf("%d calls beyond the cap, want 4", n)
	}
}
