package document_test

import (
	"context"
	"fmt"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

func ExampleParse() {
	d, err := document.Parse([]byte(`{"flowRules": [
  {"resource": "orders", "count": 20},
  {"resource": "carts", "count": -1}
]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range d.Check().Rules {
		fmt.Println(rule)
	}
	for _, problem := range d.Errors {
		fmt.Println(problem)
	}
	// Output:
	// flow[0] orders: loaded
	// flow[1] carts: refused: count: must not be negative: -1
	// line 3, column 34: flowRules[1] carts: count: must not be negative: -1
}

func ExampleLoader() {
	engine, err := tidegate.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close() }()
	loader := document.NewLoader(engine, "flow.json", document.WithKind(chain.KindFlow))
	if err := loader.Update(context.Background(), []byte(`[{"resource":"orders","count":20}]`)); err != nil {
		fmt.Println(err)
	}
	err = loader.Update(context.Background(), []byte(`{}`)) // changes nothing
	fmt.Println(err)
	fmt.Println(len(engine.FlowRules().Rules()), "rule in force")
	// Output:
	// line 1, column 1: must be an array of flow rules, not an object
	// 1 rule in force
}
