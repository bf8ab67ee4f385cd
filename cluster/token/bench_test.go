package token_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// benchService is a service on the real clock with the flow rules 1 to flows and the parameter rule 1.
func benchService(flows int, opts ...token.Option) *token.Service {
	s := token.New(opts...)
	c := token.DefaultConfig()
	c.MaxAllowedQPS = 1e12
	_ = s.Configure(c)
	rules := make([]flow.Rule, flows)
	for i := range rules {
		rules[i] = global(int64(i+1), 1e12)
	}
	s.LoadFlow("appA", rules)
	s.LoadParam("appA", []hotspot.Rule{hot(1, 1e12)})
	return s
}

func BenchmarkFlow(b *testing.B) {
	for _, c := range []struct {
		name  string
		flows int64
		opts  []token.Option
	}{{"1", 1, nil}, {"10000", 10_000, nil}, {"compatible", 1, []token.Option{token.WithCompatible()}}} {
		b.Run(c.name, func(b *testing.B) {
			s := benchService(int(c.flows), c.opts...)
			now, id := s.Now(), int64(0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%16 == 0 { // as a server reads its clock
					now = s.Now()
				}
				id = (id + 7919) % c.flows
				s.Flow(now, "appA", id+1, 1, false)
			}
		})
	}
}

func BenchmarkFlowParallel(b *testing.B) {
	for name, flows := range map[string]int64{"1": 1, "10000": 10_000} {
		b.Run(name, func(b *testing.B) {
			s := benchService(int(flows))
			var callers atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				id := callers.Add(1)
				for pb.Next() {
					id = (id + 7919) % flows
					s.Flow(s.Now(), "appA", id+1, 1, false)
				}
			})
		})
	}
}

func BenchmarkFlowRefused(b *testing.B) {
	s := benchService(1)
	s.LoadFlow("appA", []flow.Rule{global(1, 0)})
	b.ReportAllocs()
	for b.Loop() {
		s.Flow(start, "appA", 1, 1, false)
	}
}

func BenchmarkParam(b *testing.B) {
	for _, c := range []struct {
		name   string
		values int32
		opts   []token.Option
	}{
		{"one", 1, nil},
		{"10000", 10_000, nil},
		{"million", 1_000_000, nil},
		{"compatible", 1, []token.Option{token.WithCompatible()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benchService(1, c.opts...)
			values, i := []wire.Value{wire.IntValue(0)}, int32(0)
			b.ReportAllocs()
			for b.Loop() {
				i = (i + 1) % c.values
				values[0] = wire.IntValue(i)
				s.Param(s.Now(), "appA", 1, 1, values)
			}
		})
	}
}

func BenchmarkParamText(b *testing.B) {
	s := benchService(1)
	values := []wire.Value{text("user-123456")}
	b.ReportAllocs()
	for b.Loop() {
		s.Param(start, "appA", 1, 1, values)
	}
}

func BenchmarkParamParallel(b *testing.B) {
	for name, values := range map[string]int32{"one": 1, "10000": 10_000} {
		b.Run(name, func(b *testing.B) {
			s := benchService(1)
			var callers atomic.Int32
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				list, i := make([]wire.Value, 1), callers.Add(5000)
				for pb.Next() {
					i = (i + 1) % values
					list[0] = wire.IntValue(i)
					s.Param(s.Now(), "appA", 1, 1, list)
				}
			})
		})
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	s := benchService(1)
	b.ReportAllocs()
	for b.Loop() {
		s.Release("m", s.Acquire(start, "m", "appA", 1, 1).TokenID)
	}
}

func BenchmarkNow(b *testing.B) {
	s := token.New()
	for b.Loop() {
		s.Now()
	}
}

// A million values, each once, leave no more memory behind than the table's bound.
func TestAllocFlatForMillionValues(t *testing.T) { // measures the heap, so alone
	if racing {
		t.Skip("the race detector allocates")
	}
	s := benchService(1)
	ask := func(from, to int32) (heap uint64) {
		values := make([]wire.Value, 1)
		for i := from; i < to; i++ {
			values[0] = wire.IntValue(i)
			if got := s.Param(start, "appA", 1, 1, values).Status; got != chain.TokenOK {
				t.Fatal(got)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	full := ask(0, 100_000)
	if after := ask(100_000, 1_000_000); after > full+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", full, after)
	}
	if st := s.Status().Params[0]; st.Values != st.Capacity {
		t.Errorf("%d values of %d", st.Values, st.Capacity)
	}
}

// BenchmarkFlows decides 64 requests at a time, of flows that follow each other. A unit of work is one request.
func BenchmarkFlows(b *testing.B) {
	for name, flows := range map[string]int64{"1": 1, "10000": 10_000} {
		b.Run(name, func(b *testing.B) {
			s := benchService(int(flows))
			requests := make([]token.FlowRequest, 64)
			id := int64(0)
			b.ReportAllocs()
			for i := 0; i < b.N; i += len(requests) {
				for k := range requests {
					requests[k] = token.FlowRequest{ID: id + 1, Count: 1}
					id = (id + 1) % flows
				}
				s.Flows(s.Now(), "appA", requests)
			}
		})
	}
}
