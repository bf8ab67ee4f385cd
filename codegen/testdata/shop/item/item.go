// Package item has what the interfaces of the other packages are made of.
package item

import "context"

// Item is something in a shop.
type Item struct{ Name string }

// ID is a key.
type ID string

// Lister is an interface to embed.
type Lister[T any] interface {
	List(ctx context.Context, limit int) ([]T, error)
}
