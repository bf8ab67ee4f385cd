package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
)

// fixed is a clock that stands still, so that the examples print the same at any time.
type fixed struct{ now time.Time }

func (f fixed) Now() time.Time                                { return f.now }
func (fixed) Wait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func ExampleEngine_Enter() {
	engine, err := tidegate.New(tidegate.WithClock(fixed{time.Unix(1_700_000_000, 0)}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	if _, err := engine.FlowRules().Load(flow.Rule{Resource: "pay", Count: 2}); err != nil {
		fmt.Println(err) // names each refused rule; the others are in force
	}
	ctx := context.Background()
	for range 3 {
		entry, err := engine.Enter(ctx, "pay", tidegate.Call{Inbound: true})
		if err != nil {
			fmt.Println("refused:", err, errors.Is(err, tidegate.ErrFlow))
			continue
		}
		fmt.Println("paying")
		entry.Exit(nil) // with the error of the call, if it failed
	}
	// Output:
	// paying
	// paying
	// refused: flow limit reached: pay true
}

func ExampleDo() {
	engine, err := tidegate.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	receipt, err := tidegate.Do(context.Background(), "pay", func(context.Context) (string, error) {
		return "receipt 7", nil
	}, tidegate.On(engine), tidegate.As(tidegate.Call{Origin: "shop"}))
	fmt.Println(receipt, err)
	// Output: receipt 7 <nil>
}

func ExampleRuleSet_Load() {
	engine, err := tidegate.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	report, err := engine.DegradeRules().Load(
		circuitbreaker.Rule{Resource: "stock", Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 10},
		circuitbreaker.Rule{Resource: "stock", Grade: circuitbreaker.ErrorRatio, Count: 1.5, TimeWindow: 10},
	)
	for _, rule := range report.Rules {
		fmt.Println(rule)
	}
	fmt.Println(err)
	// Output:
	// degrade[0] stock: loaded
	// degrade[1] stock: refused: count: is a ratio with grade 1 and must be at most 1, not 1.5
	// degrade[1] stock: refused: count: is a ratio with grade 1 and must be at most 1, not 1.5
}

// A rule in observe mode shows what it would refuse before it refuses anything.
func ExampleEngine_WouldBlock() {
	engine, err := tidegate.New(tidegate.WithClock(fixed{time.Unix(1_700_000_000, 0)}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	_, _ = engine.FlowRules().Load(flow.Rule{Resource: "search", Count: 4, Mode: chain.ModeObserve})
	passed := 0
	for range 10 {
		if entry, err := engine.Enter(context.Background(), "search", tidegate.Call{}); err == nil {
			passed++
			entry.Exit(nil)
		}
	}
	fmt.Println(passed, "passed,", engine.WouldBlock("search"), "would have been refused")
	// Output: 10 passed, 6 would have been refused
}

// maintenance is a check that refuses every call from one caller.
type maintenance struct{}

func (maintenance) Name() string { return "maintenance" }
func (maintenance) Order() int   { return 0 } // after all built-in checks
func (maintenance) Check(c *chain.Context) error {
	if c.Origin == "batch" {
		return errors.New("down for maintenance until noon")
	}
	return nil
}

func ExampleWithCheck() {
	engine, err := tidegate.New(tidegate.WithCheck(maintenance{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	for _, origin := range []string{"web", "batch"} {
		entry, err := engine.Enter(context.Background(), "report", tidegate.Call{Origin: origin})
		fmt.Println(origin, err, errors.Is(err, tidegate.ErrCustom))
		entry.Exit(nil)
	}
	// Output:
	// web <nil> false
	// batch down for maintenance until noon: report true
}

func ExampleBlockError_Explain() {
	engine, err := tidegate.New(tidegate.WithClock(fixed{time.Unix(1_700_000_000, 400_000_000)}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	_, _ = engine.FlowRules().Load(flow.Rule{Resource: "pay", Count: 1})
	for range 2 {
		entry, err := engine.Enter(context.Background(), "pay", tidegate.Call{})
		if blocked, ok := errors.AsType[*tidegate.BlockError](err); ok {
			why := blocked.Explain()
			fmt.Printf("%v of %v %s in %v, try again in %v\n", why.Measured, why.Limit, why.Unit, why.Window, why.RetryAfter)
		}
		entry.Exit(nil)
	}
	// Output: 1 of 1 calls in 1s, try again in 600ms
}
