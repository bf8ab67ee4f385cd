package tokens

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
	"github.com/tidegate-go/tidegate/cluster/client"
)

// callers ask through the token client, each for one unit of one flow at a time.
type callers struct {
	client *client.Client
	n      int
}

func newCallers(n int, server *process, options ...client.Option) (*callers, error) {
	c := client.New(append(options, client.WithServer(server.addr), client.WithNamespace(namespace), client.WithTimeout(time.Minute))...)
	c.Start()
	if err := c.Ready(context.Background()); err != nil {
		_ = c.Close() // is always nil
		return nil, fmt.Errorf("connecting the token client: %w", err)
	}
	return &callers{c, n}, nil
}

func (c *callers) close() error { return c.client.Close() }

// slice lets the callers call for about d.
func (c *callers) slice(d time.Duration) (r reading, err error) {
	var calls, refused atomic.Int64
	var group sync.WaitGroup
	used, begin := measure.CPUTime(), time.Now()
	var over atomic.Bool
	stop := time.AfterFunc(d, func() { over.Store(true) })
	defer stop.Stop()
	for range c.n {
		group.Go(func() {
			n := int64(0)
			for ; !over.Load(); n++ {
				if r := c.client.RequestToken(context.Background(), 1, 1, false); !r.Status.Granted() {
					refused.Add(1)
				}
			}
			calls.Add(n)
		})
	}
	group.Wait()
	if n := refused.Load(); n > 0 {
		return r, fmt.Errorf("%d of %d calls were not granted", n, calls.Load())
	}
	n := float64(calls.Load())
	return reading{requests: n, perSecond: n / time.Since(begin).Seconds(), client: float64(measure.CPUTime()-used) / n}, nil
}
