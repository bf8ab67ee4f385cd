//go:build !race

package tidegate_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

// kindPath is one way that a call can take through a rule of one kind.
type kindPath struct {
	rules   func(t *testing.T, g guard)
	call    tidegate.Call
	prepare func(g guard) // beforehand
	blocked bool
}

func TestKindAllocs(t *testing.T) { // not parallel: it counts allocations
	for _, paths := range []map[string]kindPath{paramPaths(), authorityPaths(), systemPaths(), gatewayPaths(), adaptivePaths()} {
		for name, c := range paths {
			t.Run(name, func(t *testing.T) { testKindPath(t, c) })
		}
	}
}

func testKindPath(t *testing.T, c kindPath) {
	t.Helper()
	g := newStill(t, tidegate.WithSystemReadings(func() tidegate.SystemReadings {
		return tidegate.SystemReadings{Load: 5, LoadKnown: true, CPU: 0.5, CPUKnown: true, Memory: 1500, MemoryKnown: true}
	}), tidegate.WithFlowBehavior(99, budgets))
	c.rules(t, g)
	if c.prepare != nil {
		c.prepare(g)
	}
	ctx, wrong := context.Background(), 0
	if n := alloctest.Count(func() {
		entry, err := g.Enter(ctx, "r", c.call)
		if (err != nil) != c.blocked {
			wrong++
		}
		entry.Exit(nil)
	}); n != 0 {
		t.Errorf("%v allocations in 100 calls, want 0", n)
	}
	if wrong > 1 { // the first may prepare the rule
		t.Errorf("%d calls did not take the path", wrong)
	}
}

func paramPaths() map[string]kindPath {
	call := tidegate.Call{Args: []tidegate.Arg{
		tidegate.String("user", "a"), tidegate.Int("n", 7), tidegate.Float64("f", 1.5), tidegate.Bool("b", true),
	}}
	rule := func(texts ...string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) { t.Helper(); load(t, g.ParamRules(), texts...) }
	}
	used := func(g guard) { g.call("r", nil, call) }
	held := func(g guard) { g.pass("r", call) }
	return map[string]kindPath{
		"param, text":       {rules: rule(`{"resource":"r","paramIdx":0,"count":1e12}`), call: call},
		"param, integer":    {rules: rule(`{"resource":"r","paramIdx":1,"count":1e12}`), call: call},
		"param, float":      {rules: rule(`{"resource":"r","paramIdx":2,"count":1e12}`), call: call},
		"param, boolean":    {rules: rule(`{"resource":"r","paramIdx":-1,"count":1e12}`), call: call},
		"param, four rules": {rules: rule(`{"resource":"r","paramIdx":0,"count":1e12}`, `{"resource":"r","paramIdx":1,"count":1e12}`, `{"resource":"r","paramIdx":2,"count":1e12}`, `{"resource":"r","paramIdx":3,"count":1e12}`), call: call},
		"param, by name":    {rules: rule(`{"resource":"r","paramKey":"n","count":1e12}`), call: call},
		"param, by pattern": {rules: rule(`{"resource":"r|s","regex":true,"paramIdx":0,"count":1e12}`), call: call},
		"param, item":       {rules: rule(`{"resource":"r","paramIdx":0,"count":0,"paramFlowItemList":[{"object":"a","count":1000000000}]}`), call: call},
		"param, absent":     {rules: rule(`{"resource":"r","paramKey":"x","count":0}`), call: call},
		"param, zero":       {rules: rule(`{"resource":"r","paramIdx":0,"count":0}`), call: call, blocked: true},
		"param, full":       {rules: rule(`{"resource":"r","paramIdx":0,"count":1}`), call: call, prepare: used, blocked: true},
		"param, fraction":   {rules: rule(`{"resource":"r","paramIdx":0,"count":1.5}`), call: call, prepare: used, blocked: true},
		"param, burst":      {rules: rule(`{"resource":"r","paramIdx":0,"count":1,"burstCount":100000}`), call: call},
		"param, queue":      {rules: rule(`{"resource":"r","paramIdx":0,"count":1e12,"controlBehavior":2,"maxQueueingTimeMs":500}`), call: call},
		"param, waiting":    {rules: rule(`{"resource":"r","paramIdx":0,"count":10,"controlBehavior":2,"maxQueueingTimeMs":100000}`), call: call},
		"param, queue full": {rules: rule(`{"resource":"r","paramIdx":0,"count":1,"controlBehavior":2}`), call: call, prepare: used, blocked: true},
		"param, calls":      {rules: rule(`{"resource":"r","paramIdx":0,"grade":0,"count":10}`), call: call},
		"param, too many":   {rules: rule(`{"resource":"r","paramIdx":0,"grade":0,"count":1}`), call: call, prepare: held, blocked: true},
		"param, observed":   {rules: rule(`{"resource":"r","paramIdx":0,"count":0,"mode":"observe"}`), call: call},
		"param, undone later": {rules: func(t *testing.T, g guard) {
			t.Helper()
			rule(`{"resource":"r","paramIdx":0,"count":5}`, `{"resource":"r","paramIdx":1,"grade":0,"count":5}`)(t, g)
			load(t, g.FlowRules(), `{"resource":"r","count":0}`)
		}, call: call, blocked: true},
		"param, cluster pass":  {rules: rule(`{"resource":"r","paramIdx":0,"count":0,"clusterMode":true,"clusterConfig":{"flowId":1,"fallbackPolicy":"pass"}}`), call: call},
		"param, cluster block": {rules: rule(`{"resource":"r","paramIdx":0,"count":9,"clusterMode":true,"clusterConfig":{"flowId":1,"fallbackPolicy":"block"}}`), call: call, blocked: true},
	}
}

func authorityPaths() map[string]kindPath {
	rule := func(text string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) { t.Helper(); load(t, g.AuthorityRules(), text) }
	}
	return map[string]kindPath{
		"authority, white":    {rules: rule(`{"resource":"r","limitApp":"a,b"}`), call: from("b")},
		"authority, stranger": {rules: rule(`{"resource":"r","limitApp":"a,b"}`), call: from("c"), blocked: true},
		"authority, nobody":   {rules: rule(`{"resource":"r","limitApp":"a,b","strict":true}`), blocked: true},
		"authority, black":    {rules: rule(`{"resource":"r","limitApp":"a,b","strategy":1}`), call: from("a"), blocked: true},
		"authority, block":    {rules: rule(`{"resource":"r","limitApp":"10.0.0.0/8"}`), call: from("10.1.2.3")},
		"authority, outside":  {rules: rule(`{"resource":"r","limitApp":"10.0.0.0/8,x-*"}`), call: from("11.1.2.3"), blocked: true},
		"authority, wildcard": {rules: rule(`{"resource":"r|s","regex":true,"limitApp":"x-*-y"}`), call: from("x-1-y")},
		"authority, observed": {rules: rule(`{"resource":"r","limitApp":"a","mode":"observe"}`), call: from("c")},
	}
}

func systemPaths() map[string]kindPath {
	rule := func(texts ...string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) { t.Helper(); load(t, g.SystemRules(), texts...) }
	}
	used := func(g guard) { g.call("r", nil, inbound) }
	held := func(g guard) { g.pass("r", inbound) }
	slow := func(g guard) {
		entry := g.pass("r", inbound)
		g.clock.Advance(time.Millisecond * 10)
		entry.Exit(nil)
	}
	crowded := func(g guard) {
		for range 3 {
			g.pass("r", inbound)
		}
	}
	return map[string]kindPath{
		"system, all limits":    {rules: rule(`{"qps":1e12,"maxThread":1000,"avgRt":1000,"highestSystemLoad":99,"highestCpuUsage":0.9}`), call: inbound},
		"system, outbound":      {rules: rule(`{"qps":0}`)},
		"system, qps":           {rules: rule(`{"qps":1}`), call: inbound, prepare: used, blocked: true},
		"system, qps below one": {rules: rule(`{"qps":0.1}`), call: inbound, prepare: used, blocked: true},
		"system, thread":        {rules: rule(`{"maxThread":1}`), call: inbound, prepare: held, blocked: true},
		"system, rt":            {rules: rule(`{"avgRt":5}`), call: inbound, prepare: slow, blocked: true},
		"system, load":          {rules: rule(`{"highestSystemLoad":1}`), call: inbound, prepare: crowded, blocked: true},
		"system, cpu":           {rules: rule(`{"highestCpuUsage":0.4}`), call: inbound, blocked: true},
		"system, observed":      {rules: rule(`{"qps":1e12,"maxThread":9}`, `{"qps":0,"maxThread":0,"mode":"observe"}`), call: inbound},
	}
}

func gatewayPaths() map[string]kindPath {
	rule := func(text string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) { t.Helper(); load(t, g.GatewayRules(), text) }
	}
	call := carrying("ip", "1.1.1.1", "host", "h", "header:X", "x", "param:q", "query", "cookie:c", "c").call()
	used := func(g guard) { g.call("r", nil, call) }
	held := func(g guard) { g.pass("r", call) }
	return map[string]kindPath{
		"gateway, all":        {rules: rule(`{"resource":"r","count":1e12}`), call: call},
		"gateway, full":       {rules: rule(`{"resource":"r","count":1}`), call: call, prepare: used, blocked: true},
		"gateway, no request": {rules: rule(`{"resource":"r","count":0}`)},
		"gateway, other mode": {rules: rule(`{"resource":"r","resourceMode":1,"count":0}`), call: call},
		"gateway, client":     {rules: rule(`{"resource":"r","count":1e12,"paramItem":{"parseStrategy":0}}`), call: call},
		"gateway, host":       {rules: rule(`{"resource":"r","count":1,"paramItem":{"parseStrategy":1}}`), call: call, prepare: used, blocked: true},
		"gateway, header":     {rules: rule(`{"resource":"r","count":1e12,"paramItem":{"parseStrategy":2,"fieldName":"X"}}`), call: call},
		"gateway, parameter":  {rules: rule(`{"resource":"r","count":1,"paramItem":{"parseStrategy":3,"fieldName":"q","pattern":"q.*y","matchStrategy":2}}`), call: call, prepare: used, blocked: true},
		"gateway, cookie":     {rules: rule(`{"resource":"r","count":0,"paramItem":{"parseStrategy":4,"fieldName":"c","pattern":"x","matchStrategy":3}}`), call: call},
		"gateway, queue":      {rules: rule(`{"resource":"r","count":1e12,"controlBehavior":2}`), call: call},
		"gateway, queue full": {rules: rule(`{"resource":"r","count":1,"controlBehavior":2}`), call: call, prepare: used, blocked: true},
		"gateway, in flight":  {rules: rule(`{"resource":"r","grade":0,"count":9,"paramItem":{"parseStrategy":0}}`), call: call},
		"gateway, too many":   {rules: rule(`{"resource":"r","grade":0,"count":1,"paramItem":{"parseStrategy":0}}`), call: call, prepare: held, blocked: true},
	}
}

func adaptivePaths() map[string]kindPath {
	rule := func(text string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) { t.Helper(); load(t, g.FlowRules(), text) }
	}
	const memory = `"lowMemUsageThreshold":1000000,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1000,"memHighWaterMarkBytes":2000}`
	return map[string]kindPath{
		"memory, passing":    {rules: rule(`{"resource":"r",` + memory), call: inbound},
		"memory, refused":    {rules: rule(`{"resource":"r","lowMemUsageThreshold":2,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2}`), prepare: func(g guard) { g.call("r", nil) }, blocked: true},
		"behaviour, passing": {rules: rule(`{"resource":"r","count":1000,"controlBehavior":99}`)},
		"behaviour, refused": {rules: rule(`{"resource":"r","count":0,"controlBehavior":99}`), blocked: true},
	}
}

// API groups are found without allocations but for the list of names.
func TestAPIGroupsAllocs(t *testing.T) { // not parallel: it counts allocations
	g := newGuard(t)
	load(t, g.APIDefinitions(), `{"apiName":"a","predicateItems":[{"pattern":"/a"},{"pattern":"/b/","matchStrategy":1},{"pattern":"/c/[0-9]+","matchStrategy":2}]}`)
	if n := alloctest.Count(func() {
		if len(g.APIGroups("/d/1")) != 0 {
			t.Error("a group was found")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
