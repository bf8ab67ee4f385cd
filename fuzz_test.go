package tidegate_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
)

// slow is how long one input may keep the engine, generously: inputs are at most a few kilobytes.
const slow = 5 * time.Second

// value makes a value of any type of the shape that the text asks for.
func value(shape byte, text string, number int64, float float64) any {
	n := int(uint8(number)) % 8
	switch shape % 24 {
	case 0:
		return text
	case 1:
		return number
	case 2:
		return float
	case 3:
		return uint64(number) //nolint:gosec // any bits will do
	case 4:
		return number%2 == 0
	case 5:
		return nil
	case 6:
		return strings.Split(text, ",")
	case 7:
		return []byte(text)
	case 8:
		return map[string]int64{text: number}
	case 9:
		return struct {
			a string
			b float64
		}{text, float}
	case 10:
		return struct{ v any }{value(shape/24, text, number, float)}
	case 11:
		return []any{text, nil, number, float, []string{text}, value(shape/24, text, number, float)}
	case 12:
		return &text
	case 13:
		return (*int)(nil)
	case 14:
		return func() {}
	case 15:
		return keyed{id: value(shape/24, text, number, float)}
	case 16:
		return &keyed{id: text}
	case 17:
		return panicking{}
	case 18:
		return [3]float64{float, math.NaN(), -float}
	case 19:
		return make(chan int, 1)
	case 20:
		return complex(float, float)
	case 21:
		return make([]int, n)
	case 22:
		return (*keyed)(nil)
	default:
		return [4]byte{byte(number), 1, 2, 3} //nolint:gosec // any bits will do
	}
}

// FuzzArguments hands arguments of any type to rules of every way of deciding: no panic, nothing left in flight.
func FuzzArguments(f *testing.F) {
	for shape := range byte(48) {
		f.Add(shape, shape*7, "a,b", int64(shape)<<shape, 1.5, int16(shape))
	}
	f.Add(byte(11), byte(35), strings.Repeat("x,", 500), int64(math.MinInt64), math.NaN(), int16(-5))
	f.Fuzz(func(t *testing.T, first, second byte, text string, number int64, float float64, count int16) {
		g := newStill(t)
		load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":2,"burstCount":1,"paramFlowItemList":[{"object":"a","count":1}]}`,
			`{"resource":"r","paramIdx":-1,"grade":0,"count":2}`, `{"resource":"r","paramKey":"k","count":1.5,"controlBehavior":2,"maxQueueingTimeMs":1000}`,
			`{"resource":"r","paramIdx":5,"count":0}`)
		load(t, g.FlowRules(), `{"resource":"r","count":5}`)
		call := tidegate.Call{Count: int(count), Args: []tidegate.Arg{
			tidegate.Any("k", value(first, text, number, float)), tidegate.Any(text, value(second, text, number, float)),
		}}
		began := time.Now()
		var entries []tidegate.Entry
		for range 4 {
			entry, err := g.enter("r", call)
			if err != nil && count >= 0 {
				_ = err.Error()
			}
			entries = append(entries, entry)
		}
		for _, entry := range entries {
			entry.Exit(nil)
		}
		for _, s := range g.ParamStats("r", 5) {
			for _, top := range s.Top {
				if top.InFlight != 0 {
					t.Errorf("%v: %d in flight", top.Text, top.InFlight)
				}
			}
		}
		if n := g.Counters().InternalErrors; n != 0 {
			t.Errorf("%d internal errors", n)
		}
		g.idle()
		if took := time.Since(began); took > slow {
			t.Errorf("took %v", took)
		}
	})
}

// FuzzPatterns takes any text as a pattern of each kind and any other as what it is compared with.
func FuzzPatterns(f *testing.F) {
	for _, pattern := range []string{
		"", "a", "a|b", "(", "[a-z]+", "(a*)*b", `\Qa`, "^a$", "a\nb", "/a/**/b*/?", "/**/**/**/x", "*a*b*c*", "10.0.0.0/8", "10.0.0.0/99", "::/0", " , ,", "\xff", "(?m)^a$", "**", "//", "é*",
	} {
		f.Add(pattern, "a")
		f.Add(pattern, pattern)
		f.Add(pattern, strings.Repeat("/a", 200))
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 500 || len(text) > 2000 {
			return
		}
		g := newStill(t)
		began := time.Now()
		position := 0
		_, _ = g.FlowRules().Load(flow.Rule{Resource: pattern, Regex: true, Count: 1})
		_, _ = g.ParamRules().Load(hotspot.Rule{Resource: pattern, Regex: true, ParamIdx: &position, Count: 1})
		_, _ = g.AuthorityRules().Load(authority.Rule{Resource: "r", LimitApp: pattern, Strict: true},
			authority.Rule{Resource: pattern, Regex: true, LimitApp: pattern, Strategy: authority.Black})
		var rules []gateway.Rule
		var apis []gateway.API
		for _, match := range []gateway.Match{gateway.Exact, gateway.Prefix, gateway.Regex, gateway.Contains} {
			rules = append(rules, gateway.Rule{Resource: "r", Count: 1, ParamItem: &gateway.ParamItem{Pattern: pattern, MatchStrategy: match}})
			apis = append(apis, gateway.API{Name: match.String(), Predicates: []gateway.Predicate{{Pattern: pattern, MatchStrategy: match}}})
		}
		_, _ = g.GatewayRules().Load(rules...)
		_, _ = g.APIDefinitions().Load(apis...)
		for _, group := range g.APIGroups(text) {
			if group == "exact" && text != pattern {
				t.Errorf("%q is exactly %q", text, pattern)
			}
		}
		_ = gateway.MatchAnt(pattern, text)
		for _, resource := range []string{text, "r", pattern} {
			for range 3 {
				entry, _ := g.enter(resource, tidegate.Call{Origin: text, Args: []tidegate.Arg{tidegate.RequestArg(request{"ip": text}), tidegate.String("", text)}})
				entry.Exit(nil)
			}
		}
		if n := g.Counters().InternalErrors; n != 0 {
			t.Errorf("%d internal errors", n)
		}
		g.idle()
		if took := time.Since(began); took > slow {
			t.Errorf("took %v", took)
		}
	})
}
