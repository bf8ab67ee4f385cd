// Package odd has names that get in the way.
package odd

import (
	ctxpkg "context"
	"net/url"
	"unsafe"

	tidegate "example.com/shop/item"
)

//go:generate tidegate wrap -type Odd -output odd_guarded.go

// Names of the package that imports would like to have.
var context, Guard = 1, 2

// Odd has parameters without names and with names that get in the way.
type Odd interface {
	Unnamed(ctxpkg.Context, string, ...int) (int, error)
	Blank(_ ctxpkg.Context, _ string, named string) (_ int, _ error)
	Taken(context ctxpkg.Context, tidegate tidegate.Item, g, err, nil, error, string int) (next int, failed bool)
	Packages(url *url.URL, url2 url.URL) (ctx, g string, r error)
	Results(r0 int, p1 string) (int, string, error)
	Types(p unsafe.Pointer, a [3]int, f func(...string) (int, error), s struct {
		A int `json:"a"`
		b string
	}, i interface{ M(x any) }, c chan<- (<-chan int)) any
	ErrorFirst(ctx ctxpkg.Context) (error, int)
	resource(engine, resource, guard, call, last, args, method string) error
}
