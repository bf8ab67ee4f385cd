package nametable_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/internal/alloctest"
	"github.com/tidegate-go/tidegate/internal/nametable"
)

func always[V any](v V) func(string) (V, bool) {
	return func(string) (V, bool) { return v, true }
}

func yes[V any](V) bool { return true }

func names[V any](t *nametable.Table[V]) []string {
	var list []string
	t.Range(func(name string, _ V) bool { list = append(list, name); return true })
	slices.Sort(list)
	return list
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := nametable.New[int]()
	if _, ok := table.Get("a"); ok || table.Len() != 0 || len(names(table)) != 0 {
		t.Error("a new table is not empty")
	}
	if v, ok := table.GetOrAdd("a", always(1)); v != 1 || !ok {
		t.Errorf("added %d, %v", v, ok)
	}
	if v, ok := table.GetOrAdd("a", always(2)); v != 1 || !ok {
		t.Errorf("got %d, %v, want the first value", v, ok)
	}
	if _, ok := table.GetOrAdd("b", func(string) (int, bool) { return 7, false }); ok || table.Len() != 1 {
		t.Error("added a name that build refused")
	}
	if _, ok := table.Get("b"); ok {
		t.Error("found a name that build refused")
	}
	if table.Delete("a", func(v int) bool { return v != 1 }) {
		t.Error("deleted against the condition")
	}
	if table.Delete("c", yes[int]) {
		t.Error("deleted a name that is not there")
	}
	if !table.Delete("a", yes[int]) || table.Len() != 0 {
		t.Error("not deleted")
	}
	if table.Delete("a", yes[int]) {
		t.Error("deleted twice")
	}
	if v, _ := table.GetOrAdd("a", always(3)); v != 3 {
		t.Errorf("after the deletion %d, want the new value", v)
	}
}

func TestEmptyNameIsAName(t *testing.T) {
	t.Parallel()
	table := nametable.New[int]()
	table.GetOrAdd("x", always(1))
	table.Delete("x", yes[int])
	if _, ok := table.Get(""); ok {
		t.Error("a deleted place was taken for the empty name")
	}
	table.GetOrAdd("", always(2))
	if v, ok := table.Get(""); v != 2 || !ok {
		t.Errorf("empty name: %d, %v", v, ok)
	}
	if !table.Delete("", yes[int]) || table.Len() != 0 {
		t.Error("the empty name was not deleted")
	}
}

func TestRangeStops(t *testing.T) {
	t.Parallel()
	table := nametable.New[int]()
	for i := range 10 {
		table.GetOrAdd(fmt.Sprint(i), always(i))
	}
	seen := 0
	table.Range(func(string, int) bool { seen++; return seen < 3 })
	if seen != 3 {
		t.Errorf("visited %d names, want 3", seen)
	}
}

func TestBuildThatPanicsLeavesTheTableUsable(t *testing.T) {
	t.Parallel()
	table := nametable.New[int]()
	func() {
		defer func() { _ = recover() }()
		table.GetOrAdd("a", func(string) (int, bool) { panic("build") })
	}()
	if v, ok := table.GetOrAdd("a", always(1)); v != 1 || !ok {
		t.Errorf("got %d, %v", v, ok)
	}
}

// Random operations against a map, with enough names to grow and enough deletions to rebuild.
func TestAgainstAMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		table, model := nametable.New[int](), map[string]int{}
		for step := range 5_000 {
			name := fmt.Sprint("n", random.IntN(1+random.IntN(300)))
			switch random.IntN(3) {
			case 0:
				v, _ := table.GetOrAdd(name, always(step))
				if _, have := model[name]; !have {
					model[name] = step
				}
				if v != model[name] {
					t.Fatalf("seed %d step %d: got %d, want %d", seed, step, v, model[name])
				}
			case 1:
				_, have := model[name]
				delete(model, name)
				if table.Delete(name, yes[int]) != have {
					t.Fatalf("seed %d step %d: deleting said %v", seed, step, !have)
				}
			default:
				want, have := model[name]
				if v, ok := table.Get(name); ok != have || v != want {
					t.Fatalf("seed %d step %d: got %d %v, want %d %v", seed, step, v, ok, want, have)
				}
			}
			if table.Len() != len(model) {
				t.Fatalf("seed %d step %d: %d names, want %d", seed, step, table.Len(), len(model))
			}
		}
		if got := names(table); len(got) != len(model) {
			t.Fatalf("seed %d: range visits %d names, want %d", seed, len(got), len(model))
		}
	}
}

// Names that come and go for ever must not make the table grow.
func TestChurnDoesNotGrow(t *testing.T) {
	t.Parallel()
	table := nametable.New[[64]byte]()
	churn := func(from, to int) {
		for i := from; i < to; i++ {
			name := fmt.Sprint(i)
			table.GetOrAdd(name, always([64]byte{}))
			if i >= 100 {
				table.Delete(fmt.Sprint(i-100), yes[[64]byte])
			}
		}
	}
	churn(0, 5_000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	churn(5_000, 50_000)
	if after := heap(); after > before+2<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if table.Len() != 100 {
		t.Errorf("%d names, want 100", table.Len())
	}
}

func TestConcurrentUse(t *testing.T) {
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			stress(t)
		})
	}
}

func stress(t *testing.T) {
	t.Helper()
	table := nametable.New[*atomic.Int64]()
	const stable, workers, rounds = 50, 8, 3_000
	for i := range stable { // never deleted: every reader must find them at all times
		table.GetOrAdd(fmt.Sprint("stable", i), always(&atomic.Int64{}))
	}
	var built, deleted atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 2))
			for range rounds {
				if _, ok := table.Get(fmt.Sprint("stable", random.IntN(stable))); !ok {
					t.Error("a name that is there was not found")
					return
				}
				name := fmt.Sprint("volatile", random.IntN(40))
				switch random.IntN(3) {
				case 0:
					v, ok := table.GetOrAdd(name, func(string) (*atomic.Int64, bool) { built.Add(1); return &atomic.Int64{}, true })
					if !ok || v == nil {
						t.Error("adding gave nothing")
						return
					}
					v.Add(1)
				case 1:
					if table.Delete(name, yes[*atomic.Int64]) {
						deleted.Add(1)
					}
				default:
					count := 0
					table.Range(func(name string, _ *atomic.Int64) bool {
						if name[0] == 's' {
							count++
						}
						return true
					})
					if count != stable {
						t.Errorf("range visited %d of the %d names that stay", count, stable)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if want := stable + built.Load() - deleted.Load(); int64(table.Len()) != want {
		t.Errorf("%d names, want %d", table.Len(), want)
	}
}

// Callers of one new name all get the same value, built once.
func TestBuiltOnce(t *testing.T) {
	t.Parallel()
	table := nametable.New[*int]()
	for round := range 200 {
		name := fmt.Sprint(round)
		var built atomic.Int64
		var wg sync.WaitGroup
		got := make([]*int, 8)
		for i := range got {
			wg.Go(func() {
				got[i], _ = table.GetOrAdd(name, func(string) (*int, bool) { built.Add(1); return new(int), true })
			})
		}
		wg.Wait()
		if built.Load() != 1 {
			t.Fatalf("built %d times", built.Load())
		}
		for _, v := range got {
			if v != got[0] {
				t.Fatal("callers got different values")
			}
		}
	}
}

func TestGetAllocs(t *testing.T) { // not parallel: it counts allocations
	table := nametable.New[int]()
	table.GetOrAdd("a", always(1))
	build := always(2)
	if n := alloctest.Count(func() { table.Get("a"); table.Get("b"); table.GetOrAdd("a", build) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
