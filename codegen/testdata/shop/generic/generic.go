// Package generic has interfaces with type parameters.
package generic

import (
	"context"
	"fmt"

	"example.com/shop/item"
)

//go:generate tidegate wrap -type Repository,Numbers,Strings,Recursive -output guarded.go

// Repository is a generic interface that embeds another.
type Repository[K comparable, V any] interface {
	item.Lister[V]
	Get(ctx context.Context, key K) (V, error)
	Put(ctx context.Context, key K, values ...V) error
	All() map[K]V
}

// Number is a constraint.
type Number interface {
	~int | ~int64 | ~float64
}

// Numbers has constraints of each kind; its method's parameter is called like a type parameter.
type Numbers[N Number, S ~[]N, T interface {
	comparable
	fmt.Stringer
}] interface {
	Sum(ctx context.Context, N S) (N, error)
	Name(T T) string
}

// Strings is generic no more.
type Strings = Repository[string, string]

// Recursive has a constraint that names itself.
type Recursive[T interface{ Less(T) bool }] interface {
	Sort(ctx context.Context, values []T) ([]T, error)
}
