package token_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// For windows of a second, plain requests and distinct values the two modes give the same answers, whatever
// the rules, the connections and the config.
func TestModesAgreeOnSeconds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := &difference{
				T: t, random: rand.New(rand.NewPCG(seed, 7)),
				exact: newBench(), compatible: newBench(token.WithCompatible()),
			}
			for step := range 3000 {
				d.step(step)
			}
		})
	}
}

// A difference asks both modes the same.
type difference struct {
	*testing.T
	random            *rand.Rand
	exact, compatible *bench
	after             int64
}

func (d *difference) each(f func(b *bench)) {
	f(d.exact)
	f(d.compatible)
}

func (d *difference) step(step int) {
	d.after += d.random.Int64N(8) * d.random.Int64N(12)
	d.each(func(b *bench) { b.at(d.after) })
	switch roll := d.random.IntN(300); {
	case step == 0 || roll == 0:
		d.load()
	case roll == 1:
		d.configure()
	case roll < 5:
		d.join()
	case roll < 170:
		id, n := 1+d.random.Int64N(5), 1+d.random.Int32N(3)
		d.compare(func(b *bench) chain.TokenResult { return b.flow(id, n) })
	default:
		id, n, values := 1+d.random.Int64N(3), 1+d.random.Int32N(2), d.values()
		d.compare(func(b *bench) chain.TokenResult { return b.param(id, n, values...) })
	}
}

func (d *difference) compare(ask func(b *bench) chain.TokenResult) {
	d.Helper()
	if exact, compatible := ask(d.exact), ask(d.compatible); exact != compatible {
		d.Fatalf("at %d ms: exact %v with %d, compatible %v with %d", d.after, exact.Status, exact.Remaining, compatible.Status, compatible.Remaining)
	}
}

// values returns distinct values.
func (d *difference) values() (list []wire.Value) {
	for _, i := range d.random.Perm(6)[:1+d.random.IntN(3)] {
		switch i % 3 {
		case 0:
			list = append(list, wire.IntValue(int32(i)))
		case 1:
			list = append(list, wire.LongValue(int64(i-1))) // the number of the int before
		default:
			list = append(list, text(fmt.Sprint("value ", i)))
		}
	}
	return list
}

func (d *difference) count() float64 { return float64(d.random.IntN(60)) / 4 }

// load replaces the rules, the windows of old ones stay.
func (d *difference) load() {
	samples := []int{1, 2, 4, 5, 10, 20, 100}
	var flows []flow.Rule
	for id := int64(1); id < 5; id++ {
		if d.random.IntN(8) == 0 {
			continue
		}
		r := windowed(global(id, d.count()), 1000, samples[id])
		r.ClusterConfig.ThresholdType = chain.ThresholdType(id % 2)
		flows = append(flows, r)
	}
	var params []hotspot.Rule
	for id := int64(1); id < 3; id++ {
		r := hot(id, d.count(), hotspot.Item{Object: "2", Count: d.random.Int64N(20), ClassType: "int"}, hotspot.Item{Object: "value 3", Count: 9})
		r.ClusterConfig.SampleCount = samples[id+2]
		r.ClusterConfig.ThresholdType = chain.ThresholdType(id % 2)
		params = append(params, r)
	}
	d.each(func(b *bench) {
		b.LoadFlow("appA", flows)
		b.LoadParam("appA", params)
	})
}

func (d *difference) configure() {
	c := token.DefaultConfig()
	c.ExceedCount = float64(d.random.IntN(9)) / 4
	c.MaxAllowedQPS = float64(d.random.IntN(100))
	d.each(func(b *bench) {
		if err := b.ConfigureNamespace("appA", &c); err != nil {
			d.Fatal(err)
		}
	})
}

func (d *difference) join() {
	who, leaves := fmt.Sprint(d.random.IntN(4)), d.random.IntN(2) == 0
	d.each(func(b *bench) {
		if leaves {
			b.Leave(who)
		} else {
			b.Join(who, "appA")
		}
	})
}

// The exact mode against a list of everything that was granted: no window of any rule ever holds more than its limit,
// and a request is refused only if it does not fit.
func TestExactLikeModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 3))
		interval, samples := int64(500*(1+random.Int64N(8))), []int64{1, 2, 5, 10}[random.IntN(4)]
		count := float64(random.IntN(40)) / 4
		most := int64(count*float64(interval)/1000 + 1e-6)
		b := newBench()
		b.load(t, windowed(global(1, count), int(interval), int(samples)))
		length := interval / samples
		var granted [][2]int64 // bucket, units
		for after := int64(0); after < 20_000; after += random.Int64N(60) {
			bucket := (start/ms + after) / length // aligned to the epoch
			var held int64
			for _, g := range granted {
				if g[0] > bucket-samples {
					held += g[1]
				}
			}
			n := 1 + random.Int64N(3)
			got := b.at(after).flow(1, int32(n))
			if fits := held+n <= most; fits != (got.Status == chain.TokenOK) || fits && int64(got.Remaining) != most-held-n {
				t.Fatalf("seed %d at %d: %v with %d left; %d of %d held, %d asked", seed, after, got.Status, got.Remaining, held, most, n)
			}
			if got.Status == chain.TokenOK {
				granted = append(granted, [2]int64{bucket, n})
			}
		}
	}
}
