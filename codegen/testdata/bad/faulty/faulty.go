// Package faulty has types that cannot be guarded.
package faulty

import "example.com/bad/missing"

type (
	Struct     struct{}
	Empty      interface{}
	Number     interface{ ~int | ~float64 }
	Comparable interface {
		comparable
		Do() error
	}
	Embeds interface{ Undefined }
	Deep   interface{ Embeds }
	Param  interface {
		Do(a int, x *Undefined) error
	}
	Missing            interface{ Do() missing.T }
	Blank[_ any]       interface{ Do() error }
	Shadow[string any] interface{ Do(string) error }
	Fine               interface{ Do() error }
)

func Function() {}
