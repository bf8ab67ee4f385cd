//go:build linux || !linux

// Package tagged has a build constraint.
package tagged

//go:generate tidegate wrap -type Tagged

// Tagged is built under a constraint.
type Tagged interface{ Do() error }

// User needs what is generated, so the package does not compile without it.
func User(t Tagged) Tagged { return NewGuardedTagged(t, nil, nil) }
