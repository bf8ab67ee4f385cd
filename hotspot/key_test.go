package hotspot_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

type (
	userID  string
	number  int16
	ratio   float32
	flag    bool
	point   struct{ X, Y int }
	loose   struct{ V any }
	listed  struct{ S []int }
	request struct {
		sku  string
		body []byte
	}
	keyed   struct{ key any }
	angry   struct{}
	pointed struct{ id int }
)

func (r *request) ParamKey() any { return r.sku }
func (k keyed) ParamKey() any    { return k.key }
func (angry) ParamKey() any      { panic("no key today") }

// keysOf returns the keys of a value and how many were skipped.
func keysOf(value any) (keys []hotspot.Key, skipped int) {
	skipped = hotspot.KeysOf(chain.Any("", value), func(k hotspot.Key) bool {
		keys = append(keys, k)
		return true
	})
	return keys, skipped
}

func one(t *testing.T, value any) hotspot.Key {
	t.Helper()
	keys, skipped := keysOf(value)
	if len(keys) != 1 || skipped != 0 {
		t.Fatalf("%T %v: %d keys, %d skipped, want one key", value, value, len(keys), skipped)
	}
	return keys[0]
}

func TestEqualValuesHaveOneKey(t *testing.T) {
	t.Parallel()
	p, five := &pointed{1}, 5
	for name, same := range map[string][]any{
		"integers":   {5, int8(5), int16(5), int32(5), int64(5), uint(5), uint8(5), uint16(5), uint32(5), uint64(5), number(5), uintptr(5), &five},
		"negative":   {-5, int8(-5), int64(-5), number(-5)},
		"huge":       {uint64(math.MaxUint64), uint(math.MaxUint64)},
		"floats":     {5.0, float32(5), ratio(5)},
		"zero":       {0.0, math.Copysign(0, -1), float32(math.Copysign(0, -1))},
		"NaN":        {math.NaN(), -math.NaN(), float32(math.NaN()), math.Float64frombits(math.Float64bits(math.NaN()) ^ 5)},
		"texts":      {"5", userID("5"), keyed{"5"}, &request{sku: "5"}, keyed{userID("5")}},
		"truth":      {true, flag(true)},
		"structs":    {point{1, 2}, keyed{point{1, 2}}},
		"interfaces": {loose{int(1)}, loose{int(1)}},
		"pointers":   {p, p},
		"identifier": {[16]byte{1, 2}, [16]byte{1, 2}},
	} {
		first := one(t, same[0])
		for _, other := range same[1:] {
			if got := one(t, other); got != first {
				t.Errorf("%s: %T %v has key %#v, want %#v", name, other, other, got, first)
			}
		}
	}
}

func TestDifferentValuesHaveDifferentKeys(t *testing.T) {
	t.Parallel()
	seen := map[hotspot.Key]any{}
	for _, value := range []any{
		5, 5.0, "5", true, 1, "true", 0, 0.0, false, "", -1, uint64(math.MaxUint64), math.NaN(), math.Inf(1),
		point{1, 2},
		point{2, 1},
		loose{1},
		loose{int64(1)},
		&pointed{1}, &pointed{1}, complex(5, 0),
		[2]byte{1, 2},
		[16]byte{1, 2},
	} {
		key := one(t, value)
		if other, ok := seen[key]; ok {
			t.Errorf("%T %v and %T %v have the same key", value, value, other, other)
		}
		seen[key] = value
		if key.String() == "" && value != "" {
			t.Errorf("%T %v has no text", value, value)
		}
	}
}

func TestCollections(t *testing.T) {
	t.Parallel()
	var none *int
	for name, c := range map[string]struct {
		value   any
		want    []any
		skipped int
	}{
		"strings":    {[]string{"a", "b", "a"}, []any{"a", "b", "a"}, 0},
		"named":      {[]userID{"a"}, []any{"a"}, 0},
		"ints":       {[]int32{1, 2}, []any{1, 2}, 0},
		"array":      {[2]float32{1, 2}, []any{1.0, 2.0}, 0},
		"bytes":      {[]byte{7}, []any{7}, 0},
		"any":        {[]any{1, nil, "x", none, []int(nil)}, []any{1, "x"}, 0},
		"empty":      {[]string{}, nil, 0},
		"nil":        {[]string(nil), nil, 0},
		"nested":     {[]any{[]int{1}, 2, map[int]int{}, math.NaN()}, []any{2, math.NaN()}, 2},
		"arrays":     {[][2]int{{1, 2}}, []any{keyed{[1]byte{}}}, 0},
		"keyed":      {[]*request{{sku: "a"}, nil, {sku: "b"}}, []any{"a", "b"}, 0},
		"keyed list": {keyed{[]string{"a", "b"}}, []any{"a", "b"}, 0},
		"angry":      {[]any{angry{}, 1}, []any{1}, 1},
	} {
		keys, skipped := keysOf(c.value)
		if skipped != c.skipped || len(keys) != len(c.want) {
			t.Errorf("%s: keys %v, skipped %d, want %v and %d", name, keys, skipped, c.want, c.skipped)
			continue
		}
		for i, want := range c.want {
			if name != "arrays" && keys[i] != one(t, want) {
				t.Errorf("%s: element %d is %v, want %v", name, i, keys[i], want)
			}
		}
	}
}

// A value that cannot be compared is skipped and counted, nil is none at all, and nothing panics.
func TestB57ArgumentsOfAnyType(t *testing.T) {
	t.Parallel()
	c := hotspot.New(qps(1))
	var typedNil *request
	admit := func(value any) bool {
		_, _, _, ok := c.Admit(0, chain.Any("", value), 1, nil)
		return ok
	}
	skips := []any{map[string]int{}, listed{[]int{1}}, listed{}, func() {}, loose{[]int{1}}, loose{math.NaN()}, angry{}, complex(math.NaN(), 0), [1][]int{{1}}}
	for range 3 {
		for _, value := range skips {
			if !admit(value) {
				t.Errorf("%T was refused", value)
			}
		}
		for _, value := range []any{nil, typedNil, map[string]int(nil), (func())(nil), []int(nil), (chan int)(nil), error(nil)} {
			if !admit(value) {
				t.Errorf("nil %T was refused", value)
			}
		}
	}
	if got, want := c.Skipped(), uint64(3*len(skips)); got != want {
		t.Errorf("%d values counted as skipped, want %d", got, want)
	}
	if c.Len() != 0 {
		t.Fatalf("%d values in the table, want none", c.Len())
	}
	for i := range 100 {
		bits := math.Float64bits(math.NaN()) + uint64(i)
		if ok := admit(math.Float64frombits(bits)); ok != (i == 0) {
			t.Errorf("NaN number %d: passed is %v", i, ok)
		}
	}
	if c.Len() != 1 {
		t.Errorf("NaN takes %d places in the table, want 1", c.Len())
	}
	if !admit([]string{"a"}) || admit([]string{"a"}) || admit("a") {
		t.Error("the elements of a list are not limited as values")
	}
}

func TestKeysAlloc(t *testing.T) {
	for name, arg := range map[string]chain.Arg{
		"int": chain.Int("", 5), "text": chain.String("", "a"), "float": chain.Float64("", 5), "named": chain.Any("", userID("a")),
		"list": chain.Any("", []string{"a", "b"}), "ints": chain.Any("", []int{1, 2}), "struct": chain.Any("", point{1, 2}), "nil": {},
	} {
		sum := 0
		if n := testing.AllocsPerRun(100, func() {
			hotspot.KeysOf(arg, func(k hotspot.Key) bool { sum++; return true })
		}); n != 0 {
			t.Errorf("%s: %v allocations per call, want 0", name, n)
		}
	}
}

// Any value has keys that equal themselves, the same ones each time, and takes part in a check without a panic.
func FuzzKeyOf(f *testing.F) {
	f.Add(uint8(0), int64(5), 5.0, "x", true)
	f.Add(uint8(7), int64(-1), math.NaN(), "", false)
	f.Add(uint8(16), int64(math.MinInt64), math.Inf(-1), "\xff\xfe", false)
	c := hotspot.New(qps(10))
	f.Fuzz(func(t *testing.T, kind uint8, i int64, x float64, s string, b bool) {
		value := anyOf(kind, i, x, s, b)
		first, skipped := keysOf(value)
		second, skippedAgain := keysOf(value)
		if len(first) != len(second) || skipped != skippedAgain {
			t.Fatalf("%T: %v then %v", value, first, second)
		}
		for j := range first {
			if first[j] != second[j] || first[j] == (hotspot.Key{}) {
				t.Fatalf("%T: key %#v then %#v", value, first[j], second[j])
			}
			_ = first[j].String()
		}
		held, _, _, _ := c.Admit(0, chain.Any("", value), 1, nil)
		for _, h := range slices.Backward(held) {
			c.Undo(h)
		}
	})
}

func anyOf(kind uint8, i int64, x float64, s string, b bool) any {
	values := []any{
		nil, i, int32(i), int8(i), uint64(i), uint16(i), x, float32(x), s, userID(s), b, flag(b), []byte(s),
		[]string{s, s},
		[]any{i, x, s, nil},
		[]float64{x, x},
		map[string]int64{s: i},
		loose{x},
		loose{[]byte(s)},
		point{int(i), 1},
		&i, &s,
		[2]string{s, s},
		keyed{x},
		keyed{[]any{s, keyed{s}}},
		listed{},
		complex(x, x),
		[3]any{i, map[int]int{}, x},
		&request{sku: s}, (*request)(nil),
		angry{},
		func() {}, make(chan int),
		struct{ x, y any }{x, s},
		[]any{[]any{x}},
		[4]byte{byte(i)},
		[]loose{{x}, {s}},
		error(nil),
	}
	return values[int(kind)%len(values)]
}
