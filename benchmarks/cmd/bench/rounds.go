package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/figure"
)

// rowsToMeasure lists the rows; with short those that the budgets need and that are not slow.
func rowsToMeasure(short bool, filter *regexp.Regexp) []row {
	want := map[row]bool{}
	for _, b := range budgets() {
		for _, r := range b.rows {
			want[r] = r.name != gatewayRatio
		}
	}
	for _, c := range cases() {
		if !short {
			want[row{c.Name, 1}] = true
			want[row{c.Name, 2}] = !strings.HasPrefix(c.Name, "sentinel-go-cached/")
		}
	}
	for _, f := range figure.All() {
		want[row{f.Name, 0}] = !short || !f.Slow
	}
	maps.DeleteFunc(want, func(r row, wanted bool) bool { return !wanted || !filter.MatchString(r.name) })
	return slices.Collect(maps.Keys(want))
}

const maxRounds = 4 // times -rounds, at most

// measure runs rounds until every row has its clean samples.
func (t table) measure(jobs []row, o options, progress io.Writer) error {
	begin := time.Now()
	rounds := o.rounds * maxRounds
	if o.short {
		rounds = o.rounds
	}
	for round := range rounds {
		rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		ran := 0
		for _, r := range jobs {
			if t.enough(r, o.rounds) || (round > 0 && time.Since(begin) > o.limit) {
				continue
			}
			s, err := inProcess(r, o.short)
			if err != nil {
				return err
			}
			t[r] = append(t[r], s)
			ran++
		}
		if ran == 0 {
			break
		}
		fmt.Fprintf(progress, "round %d: %d rows, %v\n", round+1, ran, time.Since(begin).Round(time.Second))
	}
	return nil
}

// enough says whether the row has its samples. Figures are measured at most three times: they hardly vary.
func (t table) enough(r row, want int) bool {
	if r.cores == 0 {
		return len(t[r]) >= min(want, 3) || (len(t[r]) > 0 && isSlow(r.name))
	}
	return len(t.clean(r)) >= want
}

func isSlow(name string) bool {
	f, ok := figure.Find(name)
	return ok && f.Slow
}

// inProcess measures the row in a process of its own, so that no row sees another's heap, goroutines or state.
func inProcess(r row, short bool) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, "-measure", r.name, "-cores", strconv.Itoa(max(r.cores, 1)), "-short="+strconv.FormatBool(short))
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("measuring %s: %w\n%s", r.name, err, errors.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var s sample
	if err := json.Unmarshal(lines[len(lines)-1], &s); err != nil { // a peer may have printed something before
		return sample{}, fmt.Errorf("measuring %s: reading its result: %w", r.name, err)
	}
	return s, nil
}
