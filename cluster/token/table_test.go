package token

import (
	"math"
	"math/rand/v2"
	"testing"
)

type indexed struct {
	ns string
	id int64
}

// However the ids lie, an index finds what is in it and nothing else.
func TestIndex(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for name, id := range map[string]func(i int64) int64{
		"counted up": func(i int64) int64 { return 1000 + i },
		"with gaps":  func(i int64) int64 { return 7 + 3*i + r.Int64N(3) },
		"far apart":  func(i int64) int64 { return 1 + i<<20 },
		"random":     func(int64) int64 { return 1 + r.Int64N(math.MaxInt64) },
		"at the end": func(i int64) int64 { return math.MaxInt64 - i },
	} {
		for _, n := range []int64{1, 2, 17, 1000} {
			have := map[int64][]*indexed{}
			var all []*indexed
			for i := range n {
				one := id(i)
				for _, ns := range []string{"a", "b"}[:1+i%7/6] { // every seventh in both
					e := &indexed{ns, one}
					have[one], all = append(have[one], e), append(all, e)
				}
			}
			x := newIndex(all, func(e *indexed) (string, int64) { return e.ns, e.id }, false)
			for one, list := range have {
				for _, e := range list {
					if got, conflict := x.find(e.ns, one); got != e || conflict {
						t.Fatalf("%s, %d: %v, %v for %v", name, n, got, conflict, e)
					}
				}
				if got, conflict := x.find("c", one); (got == nil) != (len(list) > 1) || conflict != (got == nil) {
					t.Fatalf("%s, %d: %v, %v for another namespace, of %d", name, n, got, conflict, len(list))
				}
			}
			for _, other := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64, 999, 1000 + n, r.Int64()} {
				if got, conflict := x.find("a", other); have[other] == nil && (got != nil || conflict) {
					t.Fatalf("%s, %d: %v, %v for %d, which is not there", name, n, got, conflict, other)
				}
			}
		}
	}
}
