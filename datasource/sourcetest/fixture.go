// Package sourcetest is the conformance suite for data sources: whoever writes a datasource.Source shows with Run that
// it treats absent, new, changed, empty, deleted and broken documents as every other source does.
package sourcetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/datasource"
)

// A Fixture is one document in the system that the source reads, at first absent, and the way to a source for it. The
// functions end the test by themselves when they fail. Put, Delete and Corrupt must work while the source is cut off.
type Fixture struct {
	// New returns a source for the document that was not started.
	New func(t *testing.T, policy datasource.Policy) datasource.Source
	// Put makes content the document, whether there is one or not.
	Put func(t *testing.T, content []byte)
	// Delete removes the document.
	Delete func(t *testing.T)
	// Corrupt makes the document something that is no JSON array. nil: Put of half an array.
	Corrupt func(t *testing.T)

	// Disconnect cuts the source off from its system, Reconnect ends that. nil: not tested.
	Disconnect, Reconnect func(t *testing.T)
	// Restart restarts the system that keeps the document. nil: not tested.
	Restart func(t *testing.T)

	// Within is how soon a change must be in force, and how long the suite waits for anything. 0: 2 s.
	Within time.Duration
	// EmptyIsDeleted says that the system cannot keep empty content and reports it as a deletion (Nacos).
	EmptyIsDeleted bool
}

func (f Fixture) within() time.Duration {
	if f.Within > 0 {
		return f.Within
	}
	return 2 * time.Second
}

func (f Fixture) corrupt(t *testing.T) {
	t.Helper()
	if f.Corrupt != nil {
		f.Corrupt(t)
		return
	}
	f.Put(t, []byte(`[{"resource":"r"`))
}

// Run tests a source in real time. It calls setup once in each of its subtests, which run one after the other. The
// calling test must not be parallel, since the suite counts goroutines.
func Run(t *testing.T, setup func(t *testing.T) Fixture) {
	t.Helper()
	for _, test := range suite() {
		t.Run(test.name, func(t *testing.T) { test.run(newBench(t, setup(t), false)) })
	}
}

// RunVirtual tests a source in the virtual time of testing/synctest, for sources without a network: waiting costs
// nothing, and a goroutine left behind fails the test. The subtests run in parallel.
func RunVirtual(t *testing.T, setup func(t *testing.T) Fixture) {
	t.Helper()
	for _, test := range suite() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test.run(newBench(t, setup(t), true)) })
		})
	}
}

// Eventually waits until the condition holds and fails the test if it does not within that time.
func Eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
