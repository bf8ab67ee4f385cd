package token_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

// Requests that are decided together get what they would get one by one.
func TestFlowsAsOneByOne(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]token.Option{"exact": nil, "compatible": {token.WithCompatible()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			together, single := flowsBench(t, opts), flowsBench(t, opts)
			r := rand.New(rand.NewPCG(1, 2))
			var after int64
			for range 3000 {
				after += r.Int64N(40)
				together.at(after)
				single.at(after)
				compareFlows(t, together, single, randomFlows(r), []string{"", "appA", "appB"}[r.IntN(3)])
			}
			if a, b := together.Status(), single.Status(); !reflect.DeepEqual(a, b) {
				t.Errorf("status %+v, want %+v", a, b)
			}
		})
	}
}

func flowsBench(t *testing.T, opts []token.Option) *bench {
	t.Helper()
	b := newBench(opts...)
	c := token.DefaultConfig()
	c.MaxAllowedQPS = 900
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	observed := global(5, 3)
	observed.Mode = chain.ModeObserve
	b.load(t, global(1, 200), global(2, 20), average(3, 30), windowed(global(4, 50), 2000, 4), observed, global(6, 0),
		limitOfTokens(7, 10, 0, 0), global(1<<32+1, 100))
	if err := b.LoadFlow("appB", []flow.Rule{global(2, 40), global(20, 1e9)}).Err(); err != nil {
		t.Fatal(err)
	}
	b.Join("one", "appA")
	b.Join("two", "appA")
	return b
}

// randomFlows has runs of one id, and ids and counts of every kind.
func randomFlows(r *rand.Rand) []token.FlowRequest {
	ids := []int64{1, 1, 2, 3, 4, 5, 6, 7, 20, 99, 0, -1, 1<<32 + 1, 1<<32 + 2}
	all := make([]token.FlowRequest, r.IntN(65))
	for i := range all {
		if i > 0 && r.IntN(3) > 0 {
			all[i] = all[i-1]
			continue
		}
		all[i] = token.FlowRequest{ID: ids[r.IntN(len(ids))], Count: 1, Ref: int32(i), Prioritized: r.IntN(8) == 0}
		if r.IntN(4) == 0 {
			all[i].Count = r.Int32N(5) - 1
		}
	}
	return all
}

func compareFlows(t *testing.T, together, single *bench, all []token.FlowRequest, ns string) {
	t.Helper()
	together.Flows(together.Now(), ns, all)
	for i := range all {
		q := &all[i]
		want := single.Flow(single.Now(), ns, q.ID, q.Count, q.Prioritized)
		if q.Status != want.Status || q.Remaining != want.Remaining || q.Wait != want.Wait {
			t.Fatalf("request %d, %+v: want %+v", i, *q, want)
		}
	}
}

// Many who ask for several at once get exactly what there is, while the rule changes its window.
func TestFlowsExactUnderChange(t *testing.T) {
	t.Parallel()
	b := newBench()
	rule := func(samples int) flow.Rule { return windowed(global(1, 2), 1_000_000, samples) }
	b.load(t, rule(10))
	var granted atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 60 {
				all := make([]token.FlowRequest, 17)
				for i := range all {
					all[i] = token.FlowRequest{ID: 1, Count: 1}
				}
				b.Flows(b.Now(), "appA", all)
				for i := range all {
					if all[i].Status == chain.TokenOK {
						granted.Add(1)
					}
				}
			}
		})
	}
	for i := range 20 {
		b.load(t, rule(10+10*(i%2)))
	}
	group.Wait()
	if got := granted.Load(); got != 2000 {
		t.Errorf("granted %d, want 2000", got)
	}
}

func TestFlowsOfNoService(t *testing.T) {
	t.Parallel()
	for _, s := range []*token.Service{nil, {}} {
		all := []token.FlowRequest{{ID: 1, Count: 1}}
		if s.Flows(start, "", all); all[0].Status != chain.TokenFail {
			t.Errorf("status %v", all[0].Status)
		}
	}
}
