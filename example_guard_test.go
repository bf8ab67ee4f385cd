package tidegate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/flow"
)

// exampleEngine has one rule: no call of "pay" passes.
func exampleEngine() *tidegate.Engine {
	engine, err := tidegate.New()
	if err != nil {
		fmt.Println(err)
		return nil
	}
	if _, err := engine.FlowRules().Load(flow.Rule{Resource: "pay"}); err != nil {
		fmt.Println(err)
	}
	return engine
}

func ExampleGuard() {
	engine := exampleEngine()
	defer func() { _ = engine.Close() }()
	errNoSuchOrder := errors.New("no such order")
	guard := tidegate.Guard[string]{
		Engine:       engine,
		OnBlock:      func(context.Context, *tidegate.BlockError) (string, error) { return "try again later", nil },
		Fallback:     func(_ context.Context, err error) (string, error) { return "we call you: " + err.Error(), nil },
		IgnoreErrors: []error{errNoSuchOrder},
	}
	ctx := context.Background()
	fmt.Println(guard.Do(ctx, "pay", func(context.Context) (string, error) { return "paid", nil }))
	fmt.Println(guard.Do(ctx, "ship", func(context.Context) (string, error) { return "", errors.New("no truck") }))
	fmt.Println(guard.Do(ctx, "find", func(context.Context) (string, error) { return "", errNoSuchOrder }))
	// Output:
	// try again later <nil>
	// we call you: no truck <nil>
	//  no such order
}

func ExampleWrap() {
	engine := exampleEngine()
	defer func() { _ = engine.Close() }()
	pay := func(_ context.Context, cents int) (string, error) { return fmt.Sprint("paid ", cents), nil }

	guarded := tidegate.Wrap("pay", pay, tidegate.Guard[string]{Engine: engine})
	_, err := guarded(context.Background(), 500)
	fmt.Println(err)
	// Output:
	// flow limit reached: pay
}

// centre stands for a configuration centre: it keeps one text and tells who listens of every change.
type centre struct {
	listeners []func(context.Context, []byte) error
}

func (c *centre) publish(text string) {
	for _, tell := range c.listeners {
		if err := tell(context.Background(), []byte(text)); err != nil {
			fmt.Println("not all in force:", err)
		}
	}
}

// message is a request with metadata that says which service it is for.
type message struct {
	metadata map[string]string
	body     string
}

// template is a template method: every service of the application goes through execute.
type template struct{}

func (template) execute(_ context.Context, m message) (string, error) { return m.body + " done", nil }

// The resource of a template method comes from each request's metadata, and the rules for these resources come from a
// configuration centre: a new service or another limit needs no change of code.
func ExampleWrapNamed() {
	engine, err := tidegate.New(tidegate.WithAppName("shop"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close() }()
	rules := &centre{}
	rules.listeners = append(rules.listeners, document.NewLoader(engine, "centre").Update)

	resource := func(_ context.Context, m message) string { return m.metadata["service"] + ":" + m.metadata["tenant"] }
	execute := tidegate.WrapNamed(resource, template{}.execute, tidegate.Guard[string]{
		Engine: engine,
		OnBlock: func(_ context.Context, refusal *tidegate.BlockError) (string, error) {
			return "busy: " + refusal.Resource, nil
		},
	})
	call := func(service, tenant string) {
		m := message{metadata: map[string]string{"service": service, "tenant": tenant}, body: service}
		fmt.Println(execute(context.Background(), m))
	}

	rules.publish(`{"sentinelEnabled": true, "flowRules": [
		{"resource": "stock:1", "grade": 1, "count": 0},
		{"resource": "stock:2", "grade": 1, "count": 0, "enabled": false}]}`)
	call("stock", "1")
	call("stock", "2")
	call("orders", "1")

	rules.publish(`{"sentinelEnabled": true, "flowRules": [{"resource": "orders:1", "grade": 1, "count": 0}]}`)
	call("stock", "1")
	call("orders", "1")

	rules.publish(`{"sentinelEnabled": false}`)
	call("orders", "1")
	// Output:
	// busy: stock:1 <nil>
	// stock done <nil>
	// orders done <nil>
	// stock done <nil>
	// busy: orders:1 <nil>
	// orders done <nil>
}
