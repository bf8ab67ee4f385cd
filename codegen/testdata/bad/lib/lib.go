// Package lib has interfaces that other packages cannot implement.
package lib

import "example.com/bad/internal/secret"

type hidden struct{}

type (
	// Open needs a type that is not exported.
	Open interface{ Do(h hidden) error }
	// Literal has a type with an unexported field.
	Literal interface{ Do() struct{ a int } }
	// Constrained has a constraint that is not exported.
	Constrained[T number] interface{ Do(T) error }
	// Secret needs an internal package.
	Secret interface{ Do(secret.T) error }

	number interface{ ~int }
	closed interface{ Do() error }
)
