package odd

import (
	ctxpkg "context"
	"errors"
	"net/url"
	"testing"
	"unsafe"

	"example.com/shop/item"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/hotspot"
)

type odd struct{}

func (odd) Unnamed(_ ctxpkg.Context, s string, n ...int) (int, error) { return len(s) + len(n), nil }

func (odd) Blank(_ ctxpkg.Context, a, b string) (int, error) { return len(a) + len(b), nil }

func (odd) Taken(_ ctxpkg.Context, _ item.Item, a, b, c, d, e int) (int, bool) {
	return a + b + c + d + e, true
}
func (odd) Packages(*url.URL, url.URL) (string, string, error) { return "a", "b", errors.New("r") }
func (odd) Results(n int, s string) (int, string, error)       { return n, s, nil }
func (odd) Types(unsafe.Pointer, [3]int, func(...string) (int, error), struct {
	A int `json:"a"`
	b string
}, interface{ M(any) }, chan<- (<-chan int),
) any {
	return "types"
}
func (odd) ErrorFirst(ctxpkg.Context) (error, int) { return errors.New("first"), 1 }
func (odd) resource(a, b, c, d, e, f, g string) error {
	return errors.New(a + b + c + d + e + f + g)
}

func TestOdd(t *testing.T) {
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	second := 1
	if _, err := e.ParamRules().Load(
		hotspot.Rule{Resource: "Odd.Taken", ParamKey: "error", Count: 1},
		hotspot.Rule{Resource: "Odd.Blank", ParamIdx: &second, Count: 1},
	); err != nil {
		t.Fatal(err)
	}
	var o Odd = NewGuardedOdd(odd{}, e, nil)
	ctx := ctxpkg.Background()
	if n, err := o.Unnamed(ctx, "ab", 1, 2, 3); n != 5 || err != nil {
		t.Errorf("Unnamed: %d, %v", n, err)
	}
	if n, err := o.Blank(ctx, "a", "b"); n != 2 || err != nil {
		t.Errorf("Blank: %d, %v", n, err)
	}
	if _, err := o.Blank(ctx, "c", "b"); !errors.Is(err, tidegate.ErrParam) {
		t.Errorf("Blank again: %v", err)
	}
	if n, ok := o.Taken(ctx, item.Item{}, 1, 2, 3, 4, 5); n != 15 || !ok {
		t.Errorf("Taken: %d, %v", n, ok)
	}
	if n, ok := o.Taken(ctx, item.Item{}, 1, 2, 3, 4, 5); n != 0 || ok {
		t.Errorf("Taken again: %d, %v, want it refused", n, ok)
	}
	if a, b, err := o.Packages(nil, url.URL{}); a != "a" || b != "b" || err == nil {
		t.Errorf("Packages: %q, %q, %v", a, b, err)
	}
	if n, s, err := o.Results(3, "p"); n != 3 || s != "p" || err != nil {
		t.Errorf("Results: %d, %q, %v", n, s, err)
	}
	if err, n := o.ErrorFirst(ctx); err == nil || n != 1 {
		t.Errorf("ErrorFirst: %v, %d", err, n)
	}
	if err := o.resource("a", "b", "c", "d", "e", "f", "g"); err == nil || err.Error() != "abcdefg" {
		t.Errorf("resource: %v", err)
	}
}
