package datasource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tidegate-go/tidegate/datasource"
)

func ExampleFile() {
	dir, err := os.MkdirTemp("", "rules")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "flow.json")
	if err := datasource.WriteFile(path, []byte(`[{"resource":"orders","count":20}]`)); err != nil {
		fmt.Println(err)
		return
	}

	source := datasource.NewFile(path,
		datasource.WithName("flow"),
		datasource.WithPolicy(datasource.Policy{Start: datasource.Require}))
	err = source.Start(context.Background(), datasource.HandlerFuncs{
		OnUpdate: func(_ context.Context, content []byte) error {
			var rules []struct{ Resource string }
			if err := json.Unmarshal(content, &rules); err != nil {
				return err // the last good rules stay in force
			}
			fmt.Println("in force:", rules)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = source.Close() }()

	state := source.State()
	fmt.Println(source.Name(), "updates:", state.Updates, "error:", state.LastError)
	// Output:
	// in force: [{orders}]
	// flow updates: 1 error: <nil>
}
