// Package clash has the names that guarded types need.
package clash

type (
	Store interface{ Do() error }
	Other interface{ Do() error }
	store interface{ do() error }
)

// GuardedStore is not generated.
type GuardedStore struct{}

func newGuardedStore() {}
