// Package secret is internal.
package secret

// T cannot be named outside the module.
type T struct{}
