// Package store has the common shapes of methods.
package store

import (
	"context"
	"errors"
	"time"

	things "example.com/shop/item"
)

//go:generate tidegate wrap -type Store
//go:generate tidegate wrap -type HTTPCache,lookup -output caches_guarded.go

// ErrNotFound is no failure of a store.
var ErrNotFound = errors.New("not found")

// Store keeps items.
type Store interface {
	Get(ctx context.Context, id things.ID) (*things.Item, error)
	Put(ctx context.Context, id things.ID, item things.Item) error
	Delete(ctx context.Context, ids ...things.ID) (deleted int, err error)
	Count() int
	Close() error
	Reset()
	Both() (things.Item, bool)
	Watch(ctx context.Context, f func(ctx context.Context, key string, _ ...int) error) <-chan map[string][]things.Item
	Late(key string, ctx context.Context, other context.Context) (time.Duration, error)
	Scalars(ctx context.Context, s string, i int, i64 int64, f float64, b bool, u uint8, e error) error
}

// HTTPCache is a name of several words.
type HTTPCache interface {
	Fetch(url string) (body []byte, err error)
}

// lookup and its types are the package's own.
type lookup interface {
	find(ctx context.Context, k key) (entry, error)
	next() entry
	do(guard level, resource key) error
}

type (
	key   struct{ name string }
	entry struct{ value int }
	level int
)
