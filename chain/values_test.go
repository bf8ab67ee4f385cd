package chain_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
)

type named string

type point struct{ x, y float64 }

type order struct{ id any }

func (o order) ParamKey() any {
	if o.id == "panic" {
		panic("no id")
	}
	return o.id
}

// What an argument stands for, with the types of numbers, and how much of it cannot be compared.
func TestEachValue(t *testing.T) {
	t.Parallel()
	five, nobody := int16(5), (*int)(nil)
	place := &point{1, 2}
	for name, c := range map[string]struct {
		arg     chain.Arg
		want    []chain.Arg
		skipped int
	}{
		"nothing":          {chain.Arg{}, nil, 0},
		"a text":           {chain.String("id", "a"), []chain.Arg{chain.String("id", "a")}, 0},
		"a named text":     {chain.Any("", named("a")), []chain.Arg{chain.String("", "a")}, 0},
		"a pointer":        {chain.Any("", &five), []chain.Arg{chain.Int64("", 5).WithWidth(chain.Width16)}, 0},
		"a nil pointer":    {chain.Any("", nobody), nil, 0},
		"a struct":         {chain.Any("", point{1, 2}), []chain.Arg{chain.Any("", point{1, 2})}, 0},
		"a struct's place": {chain.Any("", place), []chain.Arg{chain.Any("", place)}, 0},
		"NaN inside":       {chain.Any("", point{math.NaN(), 0}), nil, 1},
		"texts":            {chain.Any("", []string{"a", "b"}), []chain.Arg{chain.String("", "a"), chain.String("", "b")}, 0},
		"a UUID":           {chain.Any("", [2]byte{1, 2}), []chain.Arg{chain.Any("", [2]byte{1, 2})}, 0},
		"bytes":            {chain.Any("", []byte{7}), []chain.Arg{chain.Int64("", 7).WithWidth(chain.Width32)}, 0},
		"a mixture": {
			chain.Any("", []any{nil, 1, uint64(math.MaxUint64), float32(0.5), true, map[string]int{}, []int{1}, [1]int{3}, order{9}, order{"panic"}}),
			[]chain.Arg{
				chain.Int("", 1), chain.Uint64("", math.MaxUint64), chain.Float64("", 0.5).WithWidth(chain.Width32), chain.Bool("", true),
				chain.Any("", [1]int{3}), chain.Int("", 9),
			},
			3,
		},
		"an order":          {chain.Any("", order{"x"}), []chain.Arg{chain.String("", "x")}, 0},
		"an order of many":  {chain.Any("", order{[]int8{1}}), []chain.Arg{chain.Int64("", 1).WithWidth(chain.Width8)}, 0},
		"an order of none":  {chain.Any("", order{}), nil, 0},
		"an order that has": {chain.Any("", order{"panic"}), nil, 1},
	} {
		var got []chain.Arg
		skipped := c.arg.Each(func(a chain.Arg) bool { got = append(got, a); return true })
		if !reflect.DeepEqual(got, c.want) || skipped != c.skipped {
			t.Errorf("%s: %+v, %d skipped; want %+v, %d", name, got, skipped, c.want, c.skipped)
		}
	}
	calls := 0
	chain.Any("", []int{1, 2, 3}).Each(func(chain.Arg) bool { calls++; return calls < 2 })
	if calls != 2 {
		t.Errorf("%d calls after the second said no", calls)
	}
}
