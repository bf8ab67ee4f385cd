package sourcetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidegate-go/tidegate/datasource"
)

type suiteTest struct {
	name string
	run  func(b *bench)
}

func suite() []suiteTest {
	return []suiteTest{
		{"PresentAtStart", presentAtStart},
		{"AbsentAtStart", absentAtStart},
		{"AbsentAtStartRequired", absentAtStartRequired},
		{"GarbageAtStart", garbageAtStart},
		{"GarbageAtStartRequired", garbageAtStartRequired},
		{"Changed", changed},
		{"SameAgain", sameAgain},
		{"NewestWins", newestWins},
		{"NoRules", noRules},
		{"Emptied", emptied},
		{"DeletedKeep", deletedKeep},
		{"DeletedClear", deletedClear},
		{"GarbageThenGood", garbageThenGood},
		{"GarbageThenLastGood", garbageThenLastGood},
		{"GarbageThenDeleted", garbageThenDeleted},
		{"State", stateReport},
		{"NetworkCut", networkCut},
		{"ServerRestart", serverRestart},
		{"StartTwice", startTwice},
		{"CloseBeforeStart", closeBeforeStart},
		{"Close", closeStops},
		{"ContextEnds", contextEnds},
	}
}

var clearOnDelete = datasource.Policy{Delete: datasource.ClearOnDelete} //nolint:gochecknoglobals // never written

func presentAtStart(b *bench) {
	b.startWith(docA, datasource.Policy{Start: datasource.Require})
	b.inForce(docA)
}

func absentAtStart(b *bench) {
	b.start(datasource.Policy{})
	if state := b.source.State(); !errors.Is(state.LastError, datasource.ErrAbsent) || state.Deleted || state.Stale {
		b.Errorf("state %+v, want ErrAbsent, neither deleted nor stale", state)
	}
	b.put(docA)
	b.inForce(docA)
}

func absentAtStartRequired(b *bench) {
	b.open(datasource.Policy{Start: datasource.Require})
	if err := b.source.Start(b.Context(), b.recorder); !errors.Is(err, datasource.ErrAbsent) {
		b.Errorf("Start: %v, want ErrAbsent", err)
	}
}

func garbageAtStart(b *bench) {
	b.fixture.corrupt(b.T)
	b.start(datasource.Policy{})
	if state := b.source.State(); state.LastError == nil || state.Stale {
		b.Errorf("state %+v, want an error and nothing stale", state)
	}
	b.put(docA)
	b.inForce(docA)
}

func garbageAtStartRequired(b *bench) {
	b.fixture.corrupt(b.T)
	b.open(datasource.Policy{Start: datasource.Require})
	if err := b.source.Start(b.Context(), b.recorder); err == nil {
		b.Error("Start took garbage for the required document")
	}
}

func changed(b *bench) {
	b.startWith(docA, datasource.Policy{})
	b.put(docB)
	b.inForce(docB)
	b.put(docA)
	b.inForce(docA)
}

// sameAgain: a document that is put again unchanged does not reach the handler.
func sameAgain(b *bench) {
	b.startWith(docA, datasource.Policy{})
	b.put(docA)
	b.put(docA)
	b.put(docB)
	b.inForce(docB)
	if got := b.recorder.Accepted(); !slices.Equal(got, []string{docA, docB}) {
		b.Errorf("handler got %q, want one update for each content", got)
	}
}

func newestWins(b *bench) {
	const last = 20
	document := func(i int) string { return fmt.Sprintf(`[{"resource":"a","count":%d}]`, 10+i) }
	b.startWith(document(0), datasource.Policy{})
	for i := 1; i <= last; i++ {
		b.put(document(i))
	}
	b.inForce(document(last))
	if got := b.recorder.Accepted(); !slices.IsSorted(got) {
		b.Errorf("updates out of order: %q", got)
	}
}

// noRules: an empty array is content like any other, neither empty text nor a deletion.
func noRules(b *bench) {
	b.startWith(docA, clearOnDelete)
	b.put(docNone)
	b.inForce(docNone)
	if n := b.recorder.Deletions(); n != 0 {
		b.Errorf("Deleted was called %d times for []", n)
	}
}

func emptied(b *bench) {
	if b.fixture.EmptyIsDeleted {
		return // deletedKeep and deletedClear have it
	}
	b.startWith(docA, clearOnDelete)
	for _, empty := range []string{"", " \n\t"} {
		b.put(empty)
		b.failing()
		if err := b.source.State().LastError; !errors.Is(err, datasource.ErrEmpty) {
			b.Errorf("error for %q: %v, want ErrEmpty", empty, err)
		}
		b.keeps(docA)
		b.put(docA)
		b.inForce(docA)
	}
	if got := b.recorder.Refused(); len(got) != 0 {
		b.Errorf("empty text reached the handler: %q", got)
	}
}

func deletedKeep(b *bench) {
	b.startWith(docA, datasource.Policy{Delete: datasource.KeepOnDelete})
	b.fixture.Delete(b.T)
	b.deleted()
	b.keeps(docA)
	b.put(docA)
	b.inForce(docA)
	b.fixture.Delete(b.T)
	b.deleted()
	b.put(docB)
	b.inForce(docB)
	if got := b.recorder.Accepted(); !slices.Equal(got, []string{docA, docB}) {
		b.Errorf("handler got %q; content that stayed in force needs no update", got)
	}
}

func deletedClear(b *bench) {
	b.startWith(docA, clearOnDelete)
	b.fixture.Delete(b.T)
	b.deleted()
	if got := b.recorder.InForce(); got != "" {
		b.Errorf("in force after the deletion: %q", got)
	}
	if state := b.source.State(); state.Stale || state.Revision != "" {
		b.Errorf("state after the deletion: %+v, want neither stale nor a revision", state)
	}
	b.put(docA)
	b.inForce(docA)
	if n := b.recorder.Deletions(); n != 1 {
		b.Errorf("Deleted was called %d times for one deletion", n)
	}
}

func garbageThenGood(b *bench) {
	b.startWith(docA, clearOnDelete)
	b.fixture.corrupt(b.T)
	b.failing()
	b.keeps(docA)
	b.put(docB)
	b.inForce(docB)
}

func garbageThenLastGood(b *bench) {
	b.startWith(docA, clearOnDelete)
	b.fixture.corrupt(b.T)
	b.failing()
	b.put(docA)
	b.inForce(docA)
	if got := b.recorder.Accepted(); !slices.Equal(got, []string{docA}) {
		b.Errorf("handler got %q; content that stayed in force needs no update", got)
	}
}

func garbageThenDeleted(b *bench) {
	b.startWith(docA, clearOnDelete)
	b.fixture.corrupt(b.T)
	b.failing()
	b.fixture.Delete(b.T)
	b.deleted()
	if got := b.recorder.InForce(); got != "" {
		b.Errorf("in force after the deletion: %q", got)
	}
}
