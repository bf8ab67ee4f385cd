// Package guard is the one shape into which every measured library is put, so that rows can be compared and another
// library is one more function that returns cases.
package guard

import (
	"fmt"
	"slices"
)

// Guard runs work under one guarded call.
type Guard interface {
	// Do returns nil if the call was let in, after work has run once, and an error if it was refused and work did
	// not run. worker numbers the calling goroutine from 0, i counts its calls; a guard over n resources or keys uses
	// number i modulo n. Do may be called by many goroutines, each with a number of its own.
	Do(worker int, i uint64, work func() error) error
}

// Func makes a Guard of a function.
type Func func(worker int, i uint64, work func() error) error

// Do calls f.
func (f Func) Do(worker int, i uint64, work func() error) error { return f(worker, i, work) }

// Case is one row.
type Case struct {
	Name      string // library/variant, words joined by '-'
	N         int    // resources, keys or instances, which the calls walk in turn; 0 means 1
	Refused   bool   // every call must be refused; otherwise every call must pass
	Exclusive bool   // sets up state of the whole process: cannot follow another case of its library
	New       func(n int) (g Guard, stop func(), err error)
}

// Size returns N, at least 1.
func (c Case) Size() int { return max(c.N, 1) }

// Find returns the case of that name.
func Find(cases []Case, name string) (Case, bool) {
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return Case{}, false
	}
	return cases[i], true
}

// Names makes n names of equal length that differ in their last six digits. Their order in the list is not the
// order in which they were made, so that walking the list does not walk memory in order.
func Names(prefix string, n int) []string {
	return Scattered(n, func(i int) string { return fmt.Sprintf("%s-%06d", prefix, i) })
}

// Scattered makes n texts in an order that is not the order of their memory addresses.
func Scattered(n int, text func(i int) string) []string {
	const prime = 104_729
	texts := make([]string, n)
	at := 0
	for range texts {
		at = (at + prime) % n
		for texts[at] != "" {
			at = (at + 1) % n
		}
		texts[at] = text(at)
	}
	return texts
}
