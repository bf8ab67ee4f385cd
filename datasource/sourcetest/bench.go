package sourcetest

import (
	"context"
	"testing"

	"github.com/tidegate-go/tidegate/datasource"
)

// Documents of the suite; to the sources they are only text.
const (
	docA    = `[{"resource":"a","count":1}]`
	docB    = `[{"resource":"b","count":2}]`
	docNone = `[]`
)

// A bench is what one test of the suite works on: a fixture, a source and its handler.
type bench struct {
	*testing.T
	fixture  Fixture
	recorder *Recorder
	source   datasource.Source
	virtual  bool // waiting costs nothing
}

func newBench(t *testing.T, fixture Fixture, virtual bool) *bench {
	t.Helper()
	return &bench{T: t, fixture: fixture, recorder: &Recorder{}, virtual: virtual}
}

// open makes the bench's source and sees to its closing.
func (b *bench) open(policy datasource.Policy) {
	b.Helper()
	b.source = b.fixture.New(b.T, policy)
	b.Cleanup(func() {
		if err := b.source.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
		if b.recorder.Overlapped() {
			b.Error("two handler calls were under way at once")
		}
	})
}

// start opens and starts the source, which must work.
func (b *bench) start(policy datasource.Policy) {
	b.Helper()
	b.open(policy)
	if err := b.source.Start(context.Background(), b.recorder); err != nil {
		b.Fatalf("Start: %v", err)
	}
}

// startWith puts the document, starts the source and sees that it is in force.
func (b *bench) startWith(document string, policy datasource.Policy) {
	b.Helper()
	b.put(document)
	b.start(policy)
	if got := b.recorder.InForce(); got != document {
		b.Fatalf("in force when Start returned: %q, want %q", got, document)
	}
}

func (b *bench) put(document string) {
	b.Helper()
	b.fixture.Put(b.T, []byte(document))
}

// inForce waits until the document is in force and the state says so.
func (b *bench) inForce(document string) {
	b.Helper()
	b.eventually(document+" is in force", func() bool {
		state := b.source.State()
		return b.recorder.InForce() == document && state.LastError == nil && !state.Deleted && !state.Stale
	})
}

// failing waits until the state shows an error.
func (b *bench) failing() {
	b.Helper()
	b.eventually("the state shows an error", func() bool { return b.source.State().LastError != nil })
}

// deleted waits until the state says that the document is gone.
func (b *bench) deleted() {
	b.Helper()
	b.eventually("the state says deleted", func() bool { return b.source.State().Deleted })
}

// keeps fails unless the document is still in force and was never taken back.
func (b *bench) keeps(document string) {
	b.Helper()
	if got := b.recorder.InForce(); got != document {
		b.Errorf("in force: %q, want the last good document %q", got, document)
	}
	if n := b.recorder.Deletions(); n != 0 {
		b.Errorf("rules were taken back %d times", n)
	}
	if state := b.source.State(); !state.Stale {
		b.Errorf("state is not stale: %+v", state)
	}
}

func (b *bench) eventually(what string, holds func() bool) {
	b.Helper()
	Eventually(b.T, b.fixture.within(), what, holds)
}
