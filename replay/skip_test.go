package replay

import "testing"

func TestSkippedWithoutTheKind(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(`{"name":"t","startMs":1,"rules":{"flow":[]},"steps":[{"atMs":1,"op":"loadRules","kind":"system","rules":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlayer(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.engine.Close() }()
	if missing := p.missing(s); missing != nil {
		t.Errorf("%q are missing, want none", missing)
	}
	delete(p.kinds, "system")
	delete(p.kinds, "flow") // which the scenario mentions without using it
	if missing := p.missing(s); len(missing) != 1 || missing[0] != "system" {
		t.Errorf("%q are missing, want system", missing)
	}
	for _, strict := range []bool{false, true} {
		var sum Summary
		sum.add(Result{Verdict: Skipped, Reason: "no rules"}, strict)
		if (sum.Skipped == 1) == strict || (sum.Failed == 1) != strict {
			t.Errorf("strict %v: %v", strict, sum)
		}
	}
}
