package token_test

import (
	"encoding/json"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

// Whatever is read as a config: it is refused, or the service works with it.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{`{}`, `{"maxAllowedQps":0}`, `{"intervalMs":60000,"sampleCount":6}`, `{"exceedCount":1e308,"maxOccupyRatio":1e308}`, `[]`, `{"sampleCount":1000000,"intervalMs":1000000}`} {
		f.Add([]byte(seed), 3.0)
	}
	f.Fuzz(func(t *testing.T, data []byte, count float64) {
		var c token.Config
		if json.Unmarshal(data, &c) != nil || c.Validate() != nil {
			return
		}
		for _, opts := range [][]token.Option{nil, {token.WithCompatible()}} {
			b := newBench(opts...)
			b.LoadFlow("appA", []flow.Rule{global(1, count), average(2, count), windowed(global(3, count), 2000, 4)})
			if err := b.Configure(c); err != nil {
				t.Fatal(err)
			}
			for i := range int64(20) {
				b.at(i * 90)
				b.flow(1, 1)
				b.prior(2, 3)
				b.prior(3, 1)
			}
			if _, err := json.Marshal(b.Status()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
