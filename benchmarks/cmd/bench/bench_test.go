package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/benchmarks/figure"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// of makes a sample whose slices cost so many units of 20 ns.
func of(units ...float64) sample {
	var s sample
	for _, u := range units {
		s.Slices = append(s.Slices, measure.Slice{CPU: 20 * u, Wall: 20 * u, Unit: 20, Steady: true})
	}
	return s
}

func TestBudgetsNameRows(t *testing.T) {
	t.Parallel()
	for _, b := range budgets() {
		for _, r := range b.rows {
			_, isCase := guard.Find(cases(), r.name)
			_, isFigure := figure.Find(r.name)
			if r.name != gatewayRatio && (r.cores > 0) != isCase || (r.cores == 0 && r.name != gatewayRatio) != isFigure {
				t.Errorf("budget %q: there is no row %v", b.what, r)
			}
		}
	}
}

func TestMedianOfCleanSlices(t *testing.T) {
	t.Parallel()
	r := row{"a", 1}
	crowded := of(9, 9)
	for i := range crowded.Slices {
		crowded.Slices[i].Unit = 30
	}
	unsteady := of(100)
	unsteady.Slices[0].Steady = false
	table := table{r: {of(4, 5, 6), of(7, 7, 7), of(2), crowded, unsteady}}
	if got, clean := table.value(r); got != 5 || !clean {
		t.Errorf("value %v, clean %v, want 5 of the three clean samples", got, clean)
	}
	if n := len(table.clean(r)); n != 3 {
		t.Errorf("%d clean samples, want 3", n)
	}
}

func TestTwoCoresAreComparedWithOneBeside(t *testing.T) {
	t.Parallel()
	r := row{"a", 2}
	var s sample
	for i := range 3 { // the machine is slower each time, and so is one core alone
		slow := 20 * float64(i+1)
		s.Slices = append(s.Slices, measure.Slice{CPU: 8 * slow, Wall: 3 * slow, Alone: 5 * slow, Unit: 20, Steady: true})
	}
	if got, clean := (table{r: {s}}).value(r); math.Abs(got-0.6) > 1e-9 || !clean {
		t.Errorf("value %v, clean %v, want 0.6", got, clean)
	}
}

func TestUncleanRowIsMarked(t *testing.T) {
	t.Parallel()
	crowded := of(9)
	crowded.Slices[0].Unit = 30
	table := table{{"a", 1}: {of(4)}, {"b", 1}: {crowded}}
	if got, clean := table.value(row{"b", 1}); got != 6 || clean {
		t.Errorf("value %v, clean %v, want 6 and not clean", got, clean)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	r := row{"a", 1}
	most := budget{rows: []row{r}, value: first, limit: 4}
	least := budget{rows: []row{r}, value: first, limit: 4, atLeast: true}
	for _, c := range []struct {
		b    budget
		got  float64
		want state
	}{
		{most, 4, stateMet},
		{most, 4.5, stateNear},
		{most, 4.61, stateMissed},
		{least, 4, stateMet},
		{least, 3.5, stateNear},
		{least, 3.4, stateMissed},
	} {
		if v := c.b.judge(table{r: {of(c.got)}}, 1.15); v.state != c.want {
			t.Errorf("%v against %v (at least: %v): %s, want %s", c.got, c.b.limit, c.b.atLeast, v.state, c.want)
		}
	}
	if v := most.judge(table{}, 1.15); v.state != stateUnmeasured {
		t.Errorf("without a sample: %s", v.state)
	}
}

// What could not be measured cleanly is no miss.
func TestStates(t *testing.T) {
	t.Parallel()
	single := budget{rows: []row{{"a", 1}}}
	ratio := budget{rows: []row{{"a", 1}, {"b", 1}}}
	for _, c := range []struct {
		b     budget
		worse float64
		clean bool
		want  state
	}{
		{single, 1, true, stateMet},
		{single, 1.15, true, stateNear},
		{single, 1.16, true, stateMissed},
		{single, 1, false, stateMet},
		{single, 3, false, stateNoisy},
		{ratio, 0.5, false, stateNoisy},
		{ratio, math.NaN(), true, stateMissed},
	} {
		if got := c.b.state(c.worse, 1.15, c.clean); got != c.want {
			t.Errorf("%v times the limit of %d rows, clean %v: %s, want %s", c.worse, len(c.b.rows), c.clean, got, c.want)
		}
	}
}

func TestMissedBudgetsFailTheRun(t *testing.T) {
	t.Parallel()
	near, far := of(4.5), of(9)
	for name, c := range map[string]struct {
		sample sample
		want   []string
	}{"near": {near, nil}, "far": {far, []string{"no rule"}}} {
		if got := in(stateMissed, judge(table{one("tidegate/no-rule"): {c.sample}}, 1.15)); !slices.Equal(got, c.want) {
			t.Errorf("%s: missed %v, want %v", name, got, c.want)
		}
	}
}

// allocating makes a sample whose slices allocated so much per call.
func allocating(allocs ...float64) sample {
	var s sample
	for _, a := range allocs {
		s.Slices = append(s.Slices, measure.Slice{CPU: 80, Wall: 80, Unit: 20, Steady: true, Allocs: a})
	}
	return s
}

func TestJudgeAllocs(t *testing.T) {
	t.Parallel()
	rare := allocating(0.01, 0.01, 0.01, 0.01)
	v := judgeAllocs(table{{"tidegate/x", 2}: {rare}, {"tidegate/y", 1}: {allocating(0, 0.001)}})
	if v.state != stateMissed || !strings.Contains(v.what, "tidegate/x on 2 cores") {
		t.Errorf("an allocation in a hundred calls: %s, %q", v.state, v.what)
	}
	for name, table := range map[string]table{
		"a peer's allocation":           {{"tidegate/x", 1}: {of(4)}, {"peer/x", 1}: {allocating(1)}},
		"a table that grew in a slice":  {{"tidegate/x", 2}: {allocating(0, 0.4, 0, 0)}},
		"a process that was late to it": {{"tidegate/x", 2}: {of(4), allocating(0.4, 0.4, 0, 0), of(4)}},
	} {
		if v := judgeAllocs(table); v.state != stateMet {
			t.Errorf("%s: %s", name, v.state)
		}
	}
}

func TestReportHasEveryBudget(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := table{one("tidegate/no-rule"): {of(3.5)}}
	report(&out, table, judge(table, 1.15))
	for _, want := range []string{"| no rule | 3.5 | at most 4 | units | met |", "| tidegate/no-rule | 70 | 3.5 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestGatewayOutput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	text := "goos: linux\nBenchmarkGateway \t 40\t 1234 ns/op\t 0.95 gateway/ratio\nPASS\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	table := table{}
	if err := table.readGateway(path); err != nil {
		t.Fatal(err)
	}
	if got, _ := table.value(row{gatewayRatio, 0}); got != 0.95 {
		t.Errorf("ratio %v, want 0.95", got)
	}
}

func TestShortRunHasNoSlowRow(t *testing.T) {
	t.Parallel()
	jobs := rowsToMeasure(true, everything())
	if slices.ContainsFunc(jobs, func(r row) bool { return isSlow(r.name) }) || len(jobs) >= len(rowsToMeasure(false, everything())) {
		t.Error("the short run is not short")
	}
}

func everything() *regexp.Regexp { return regexp.MustCompile("") }
