package chain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	type object struct{ n int }
	for _, c := range []struct {
		arg  chain.Arg
		kind chain.ArgKind
		want any
	}{
		{chain.Arg{}, chain.ArgNil, nil},
		{chain.String("a", "x"), chain.ArgString, "x"},
		{chain.Int("a", -3), chain.ArgInt, int64(-3)},
		{chain.Int64("a", math.MinInt64), chain.ArgInt, int64(math.MinInt64)},
		{chain.Uint64("a", 7), chain.ArgInt, int64(7)},
		{chain.Uint64("a", math.MaxUint64), chain.ArgUint, uint64(math.MaxUint64)},
		{chain.Float64("a", 5), chain.ArgFloat, 5.0},
		{chain.Bool("a", true), chain.ArgBool, true},
		{chain.Bool("a", false), chain.ArgBool, false},
		{chain.Any("a", nil), chain.ArgNil, nil},
		{chain.Any("a", "x"), chain.ArgString, "x"},
		{chain.Any("a", true), chain.ArgBool, true},
		{chain.Any("a", 1), chain.ArgInt, int64(1)},
		{chain.Any("a", int8(-1)), chain.ArgInt, int64(-1)},
		{chain.Any("a", int16(2)), chain.ArgInt, int64(2)},
		{chain.Any("a", int32(3)), chain.ArgInt, int64(3)},
		{chain.Any("a", int64(4)), chain.ArgInt, int64(4)},
		{chain.Any("a", uint(5)), chain.ArgInt, int64(5)},
		{chain.Any("a", uint8(6)), chain.ArgInt, int64(6)},
		{chain.Any("a", uint16(7)), chain.ArgInt, int64(7)},
		{chain.Any("a", uint32(8)), chain.ArgInt, int64(8)},
		{chain.Any("a", uint64(math.MaxUint64)), chain.ArgUint, uint64(math.MaxUint64)},
		{chain.Any("a", float32(0.5)), chain.ArgFloat, 0.5},
		{chain.Any("a", 1.5), chain.ArgFloat, 1.5},
		{chain.Any("a", object{3}), chain.ArgAny, object{3}},
	} {
		if c.arg.Kind() != c.kind || c.arg.Value() != c.want {
			t.Errorf("%v: kind %d value %v (%T), want %d %v (%T)", c.arg, c.arg.Kind(), c.arg.Value(), c.arg.Value(), c.kind, c.want, c.want)
		}
		if want := "a"; c.arg != (chain.Arg{}) && c.arg.Name() != want {
			t.Errorf("%v: name %q", c.arg, c.arg.Name())
		}
	}
	for want, arg := range map[chain.ArgWidth]chain.Arg{
		chain.WidthNone: chain.Int("", 5), chain.Width8: chain.Any("", int8(5)), chain.Width16: chain.Any("", int16(5)),
		chain.Width32: chain.Any("", float32(5)), chain.Width64: chain.Any("", int64(5)),
	} {
		if arg.Width() != want {
			t.Errorf("%v: width %d, want %d", arg.Value(), arg.Width(), want)
		}
	}
	if chain.Int("", 5).Bits() == chain.Float64("", 5).Bits() || chain.String("", "x").Str() != "x" || chain.Int("", 1).Str() != "" {
		t.Error("Bits or Str")
	}
}

func TestBlockErrors(t *testing.T) {
	t.Parallel()
	e := chain.NewBlockError(chain.KindFlow, "pay", nil, chain.ErrFlow, nil)
	for target, want := range map[error]bool{
		chain.ErrBlocked: true, chain.ErrFlow: true, chain.ErrCircuitOpen: false, chain.ErrCustom: false,
	} {
		if errors.Is(e, target) != want || errors.Is(fmt.Errorf("wrapped: %w", e), target) != want {
			t.Errorf("errors.Is(%v) is not %v", target, want)
		}
	}
	if e.Error() != "flow limit reached: pay" {
		t.Errorf("text %q", e.Error())
	}
	cause := errors.New("cause")
	custom := chain.NewBlockError(chain.KindCustom, "r", nil, fmt.Errorf("a: %w", cause), nil)
	if !errors.Is(custom, chain.ErrCustom) || !errors.Is(custom, cause) || !errors.Is(custom, chain.ErrBlocked) {
		t.Error("a custom refusal is not what it is")
	}
	changed := e.WithCause(cause)
	if !errors.Is(changed, cause) || errors.Is(changed, chain.ErrFlow) || !errors.Is(e, chain.ErrFlow) || changed.Resource != "pay" {
		t.Errorf("%+v from %+v", changed, e)
	}
	system := &chain.BlockError{Kind: chain.KindSystem, Resource: "r", Cause: chain.ErrSystem, Type: "qps"}
	if system.Error() != "system limit reached (qps): r" {
		t.Errorf("text %q", system.Error())
	}
	var none *chain.BlockError
	if none.Error() == "" || !errors.Is(none, chain.ErrBlocked) || none.Unwrap() != nil || none.Explain() != (chain.Explanation{}) {
		t.Error("nil")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for k := range chain.KindAPI + 1 {
		if got, err := chain.ParseKind(k.String()); err != nil || got != k {
			t.Errorf("kind %v reads as %v, %v", k, got, err)
		}
	}
	for m := range chain.ModeOff + 1 {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got chain.Mode
		if err := json.Unmarshal(text, &got); err != nil || got != m {
			t.Errorf("mode %v reads as %v, %v", m, got, err)
		}
	}
	for p := chain.FallbackShare; p <= chain.FallbackBlock; p++ {
		if got, err := chain.ParseFallbackPolicy(p.String()); err != nil || got != p {
			t.Errorf("policy %v reads as %v, %v", p, got, err)
		}
	}
	mode := chain.ModeObserve
	for _, wrong := range []string{`"Observe"`, `1`, `null1`, `""`} {
		if err := json.Unmarshal([]byte(wrong), &mode); err == nil || mode != chain.ModeObserve {
			t.Errorf("%s: %v, %v", wrong, mode, err)
		}
	}
	if _, err := chain.ParseKind("nothing"); err == nil {
		t.Error("an unknown kind")
	}
	if _, err := chain.ParseFallbackPolicy(""); err == nil {
		t.Error("an empty policy")
	}
	for _, s := range []fmt.Stringer{chain.Kind(99), chain.Mode(99), chain.FallbackPolicy(99), chain.Verdict(99)} {
		if s.String() == "" {
			t.Errorf("%T without text", s)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := chain.Report{Rules: []chain.RuleReport{
		{Kind: chain.KindFlow, Index: 0, Resource: "a"},
		{Kind: chain.KindFlow, Index: 1, Verdict: chain.Refused, Member: "count", Reason: "is a string"},
		{Kind: chain.KindFlow, Index: 2, Resource: "b", Verdict: chain.Refused, Reason: "not an object"},
		{Kind: chain.KindFlow, Index: 3, Resource: "b", Verdict: chain.Observed},
	}}
	if r.Count(chain.Refused) != 2 || r.Count(chain.Loaded) != 1 || r.Count(chain.Duplicate) != 0 {
		t.Error("Count")
	}
	if err := r.Err(); err == nil || err.Error() != "flow[1] -: refused: count: is a string\nflow[2] b: refused: not an object" {
		t.Errorf("error %v", err)
	}
	if (chain.Report{Rules: r.Rules[:1]}).Err() != nil {
		t.Error("an error though no rule was refused")
	}
	var member *chain.MemberError
	if err := chain.Refuse("count", "must be %d", 1); !errors.As(err, &member) || err.Error() != "count: must be 1" {
		t.Errorf("%v", err)
	}
}

// A report is one line, whatever the rule says.
func TestRuleReportIsOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		report chain.RuleReport
		want   string
	}{
		{chain.RuleReport{Kind: chain.KindSystem}, "system[0] -: loaded"},
		{chain.RuleReport{Resource: " \t\n"}, "flow[0] -: loaded"},
		{chain.RuleReport{Resource: `GET:/a "b" \d+ é 订单`}, `flow[0] GET:/a "b" \d+ é 订单: loaded`},
		{chain.RuleReport{Resource: "a: loaded\nflow[1] b\x1b[31m\r\x00\u2028\xff\ufffd"}, `flow[0] a: loaded\nflow[1] b\x1b[31m\r\x00\u2028\xff` + "\ufffd: loaded"},
		{chain.RuleReport{Resource: "a", Index: 1, Verdict: chain.Duplicate, Reason: "rule 0 comes first"}, "flow[1] a: duplicate"},
		{chain.RuleReport{Resource: "a", Verdict: chain.Disabled, Reason: "rules of this kind are switched off"}, "flow[0] a: disabled"},
		{chain.RuleReport{Resource: "a", Verdict: chain.Refused, Member: "x\ny", Reason: "is\nwrong"}, `flow[0] a: refused: x\ny: is\nwrong`},
	} {
		if c.report.Kind == chain.KindCustom {
			c.report.Kind = chain.KindFlow
		}
		if got := c.report.String(); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestClusterDefaults(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	for _, c := range []*chain.ClusterConfig{nil, {}} {
		if c.Samples() != 10 || c.Window() != 1000 || c.TokenTimeout() != 2000 || c.OfflineTimeout() != 2000 || c.Fallback() != chain.FallbackShare {
			t.Errorf("%+v: %d %d %d %d %v", c, c.Samples(), c.Window(), c.TokenTimeout(), c.OfflineTimeout(), c.Fallback())
		}
	}
	for _, c := range []struct {
		config chain.ClusterConfig
		want   chain.FallbackPolicy
	}{
		{chain.ClusterConfig{FallbackToLocalWhenFail: &no}, chain.FallbackPass},
		{chain.ClusterConfig{FallbackToLocalWhenFail: &yes}, chain.FallbackShare},
		{chain.ClusterConfig{FallbackToLocalWhenFail: &no, FallbackPolicy: chain.FallbackBlock}, chain.FallbackBlock},
	} {
		if got := c.config.Fallback(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.config, got, c.want)
		}
	}
}

func TestContextArguments(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4, 9} {
		var c chain.Context
		args := make([]chain.Arg, n)
		for i := range args {
			args[i] = chain.Int(fmt.Sprint("n", i), i)
		}
		c.SetArgs(args)
		for i := range args {
			args[i] = chain.Arg{}
		}
		for i := range n {
			first, ok := c.Arg(i)
			last, okLast := c.Arg(i - n)
			named, okNamed := c.ArgNamed(fmt.Sprint("n", i))
			if !ok || !okLast || !okNamed || first != last || first != named || first.Value() != int64(i) {
				t.Errorf("%d of %d: %v %v %v", i, n, first, last, named)
			}
		}
		for _, position := range []int{n, -n - 1, math.MinInt, math.MaxInt} {
			if _, ok := c.Arg(position); ok {
				t.Errorf("argument %d of %d", position, n)
			}
		}
		if _, ok := c.ArgNamed("other"); ok {
			t.Error("an argument of another name")
		}
		c.Clear()
		if len(c.Args()) != 0 {
			t.Error("arguments are left")
		}
	}
}
