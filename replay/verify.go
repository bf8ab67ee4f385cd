package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say how to verify. The zero value is meant for use.
type Options struct {
	// Divergences is the list of what is meant to differ; nil is the project's own.
	Divergences *Divergences
	// Strict ignores the list: every difference fails. VerifyDir then counts skipped scenarios as failed.
	Strict bool
	// MaxCalls bounds the calls of a scenario; one that makes more fails. 0 means a million.
	MaxCalls int
}

func (o Options) maxCalls() int {
	if o.MaxCalls > 0 {
		return o.MaxCalls
	}
	return 1_000_000
}

func (o Options) divergence(scenario string) (*Divergence, error) {
	if o.Strict {
		return nil, nil //nolint:nilnil // no entry, no error
	}
	if o.Divergences != nil {
		return o.Divergences.of(scenario), nil
	}
	own, err := Own()
	return own.of(scenario), err
}

// Verdict is what became of a scenario.
type Verdict uint8

// The verdicts.
const (
	Passed Verdict = iota
	Failed
	Skipped // it uses a kind of rules that this build does not have
)

var verdictNames = [...]string{"passed", "failed", "skipped"}

// String returns the verdict in lower case.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Difference is a field of a step that is not as recorded. Values are plain JSON values; nil is an absent field.
type Difference struct {
	Step     int // from 0
	Op       string
	What     string // the step in short
	Field    string
	Recorded any
	Got      any
	Listed   bool // the list of divergences has the step and the field, with
	Expected any  // this value
}

// OK says whether the difference is as listed.
func (d Difference) OK() bool {
	return d.Listed && same(d.Expected, d.Got) && !same(d.Recorded, d.Got)
}

// String says what differs, with both values.
func (d Difference) String() string {
	text := fmt.Sprintf("step %d (%s): %s: recorded %s, got %s", d.Step, d.What, d.Field, show(d.Recorded), show(d.Got))
	switch {
	case !d.Listed:
		return text
	case same(d.Recorded, d.Got):
		return text + ": listed as a divergence, but does not differ any more"
	}
	return text + ", listed " + show(d.Expected)
}

// Result is the result of one scenario.
type Result struct {
	Name        string
	File        string // base name of the file, where there is one
	Verdict     Verdict
	Differences []Difference // from the recording, and from the list of divergences
	Err         error        // why it could not be played to the end
	Reason      string       // why it was skipped
}

// Unexpected returns the differences that are not as listed.
func (r Result) Unexpected() []Difference {
	return slices.DeleteFunc(slices.Clone(r.Differences), Difference.OK)
}

// Verify plays the scenario on an engine of its own and compares every step with the recording or, where the
// scenario is in the list of divergences, with what is listed.
func Verify(s *Scenario, o Options) Result {
	r := Result{Name: s.Name}
	listed, err := o.divergence(s.Name)
	if err != nil {
		return r.fail(err)
	}
	p, err := newPlayer(s, o)
	if err != nil {
		return r.fail(err)
	}
	defer func() { _ = p.engine.Close() }()
	if missing := p.missing(s); len(missing) > 0 {
		r.Verdict, r.Reason = Skipped, "this build has no rules of kind "+strings.Join(missing, ", ")
		return r
	}
	if err := p.load(s); err != nil {
		return r.fail(err)
	}
	for i := range s.steps {
		st := &s.steps[i]
		got, err := p.play(st)
		if err != nil {
			return r.fail(fmt.Errorf("step %d (%s): %w", i, st, err))
		}
		r.Differences = append(r.Differences, compare(i, st, got, listed)...)
	}
	if n := p.engine.Counters().InternalErrors; n > 0 {
		return r.fail(fmt.Errorf("the engine had %d internal errors", n))
	}
	if err := listed.beyond(s); err != nil {
		return r.fail(err)
	}
	if len(r.Unexpected()) > 0 {
		r.Verdict = Failed
	}
	return r
}

func (r Result) fail(err error) Result {
	r.Verdict, r.Err = Failed, err
	return r
}

// missing returns the kinds of rules that the scenario uses and the engine does not have.
func (p *player) missing(s *Scenario) []string {
	var missing []string
	look := func(name string) {
		if p.kinds[name] == nil && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	for _, name := range kindNames() {
		if len(s.rules[name]) > 0 {
			look(name)
		}
	}
	for i := range s.steps {
		if s.steps[i].op == "loadRules" {
			look(s.steps[i].kind)
		}
	}
	return missing
}

// compare returns the fields of a step that differ from the recording, or that are listed.
func compare(i int, st *step, got outcome, listed *Divergence) []Difference {
	var ours outcome
	if listed != nil {
		ours = listed.steps[i]
	}
	fields := st.recorded.differing(got)
	for name := range ours {
		if !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	list := make([]Difference, len(fields))
	for j, name := range fields {
		expected, is := ours[name]
		list[j] = Difference{
			Step: i, Op: st.op, What: st.String(), Field: name,
			Recorded: st.recorded[name], Got: got[name], Listed: is, Expected: expected,
		}
	}
	return list
}

// beyond returns an error if the entry lists steps that the scenario does not have.
func (d *Divergence) beyond(s *Scenario) error {
	if d == nil {
		return nil
	}
	for i, op := range d.ops {
		if i < 0 || i >= len(s.steps) || s.steps[i].op != op {
			return fmt.Errorf("the list of divergences has a step %d that is %q, the scenario has not", i, op)
		}
	}
	return nil
}

// Summary is the result of many scenarios.
type Summary struct {
	Results                 []Result // in order of file name
	Passed, Failed, Skipped int
}

// String returns "N passed, M failed, K skipped".
func (s Summary) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", s.Passed, s.Failed, s.Skipped)
}

// VerifyDir verifies the scenarios of all files in a directory whose name ends in .json. A file that is no
// scenario is one that failed. The error says that the directory cannot be read.
func VerifyDir(dir string, o Options) (Summary, error) {
	var sum Summary
	if o.Divergences == nil && !o.Strict {
		own, err := Own()
		if err != nil {
			return sum, err
		}
		o.Divergences = own
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return sum, err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") || entry.IsDir() {
			continue
		}
		sum.add(verifyFile(filepath.Join(dir, entry.Name()), o), o.Strict)
	}
	return sum, nil
}

func verifyFile(file string, o Options) Result {
	base := filepath.Base(file)
	s, err := Load(file)
	var r Result
	if err != nil {
		r = Result{Verdict: Failed, Err: err}
	} else {
		r = Verify(s, o)
	}
	r.File = base
	if r.Name == "" {
		r.Name = strings.TrimSuffix(base, ".json")
	}
	return r
}

func (s *Summary) add(r Result, strict bool) {
	if r.Verdict == Skipped && strict {
		r.Verdict, r.Err = Failed, errors.New("skipped: "+r.Reason)
	}
	s.Results = append(s.Results, r)
	switch r.Verdict {
	case Passed:
		s.Passed++
	case Failed:
		s.Failed++
	case Skipped:
		s.Skipped++
	}
}
