package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// report prints the budgets with their verdicts and all rows, as Markdown.
func report(out io.Writer, t table, verdicts []verdict) {
	reportBudgets(out, verdicts)
	fmt.Fprintln(out)
	reportRows(out, t)
}

func reportBudgets(out io.Writer, verdicts []verdict) {
	fmt.Fprintln(out, "| budget | measured | limit | | verdict |")
	fmt.Fprintln(out, "| --- | ---: | ---: | --- | --- |")
	for _, v := range verdicts {
		measured, sign := "", "at most "
		if v.state != stateUnmeasured {
			measured = number(v.got)
		}
		if v.atLeast {
			sign = "at least "
		}
		fmt.Fprintf(out, "| %s | %s | %s%s | %s | %s |\n", v.what, measured, sign, number(v.limit), v.unit, v.state)
	}
}

// reportRows prints the cost of every case. A star marks what has no clean sample.
func reportRows(out io.Writer, t table) {
	fmt.Fprintln(out, "| case | CPU ns | units | allocs | B | 2 cores: units of time | of one core's | 2 cores: CPU units | samples |")
	fmt.Fprintln(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range cases() {
		serial, parallel := row{c.Name, 1}, row{c.Name, 2}
		if len(t[serial]) == 0 && len(t[parallel]) == 0 {
			continue
		}
		column := func(r row, f func(measure.Slice) float64) string { return t.cell(r, f) }
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %d, %d |\n", c.Name,
			column(serial, func(s measure.Slice) float64 { return s.CPU }), column(serial, cpuUnits),
			t.allocsCell(serial), column(serial, func(s measure.Slice) float64 { return s.Bytes }),
			column(parallel, timeUnits), column(parallel, ofAlone), column(parallel, cpuUnits),
			len(t.clean(serial)), len(t.clean(parallel)))
	}
}

func (t table) cell(r row, f func(measure.Slice) float64) string {
	if len(t[r]) == 0 {
		return ""
	}
	value, clean := t.median(r, f)
	return number(value) + star(clean)
}

func (t table) allocsCell(r row) string {
	if len(t[r]) == 0 {
		return ""
	}
	return number(t.allocs(r))
}

func star(clean bool) string {
	if clean {
		return ""
	}
	return "*"
}

func number(v float64) string {
	if v < 0.005 && v > -0.005 {
		return "0"
	}
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func writeResults(path string, t table, verdicts []verdict) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, `# Results

Written by `+"`make bench`"+` with %s on %s/%s, %d cores%s.

A unit is one reading of the monotonic clock (`+"`time.Since`"+`), measured beside every sample: %s ns here. Each row is the
median over processes in shuffled rounds. CPU is that of the whole process. A sample counts if the clock beside it had its cores, and clock
and plain instructions were as fast as in the run's best moments: then nobody else used the machine. A star says that none was, and that the row's best ones stand there.
Units of time on two cores are per call of both together. "Of one core's" is that time over the one of the same calls on one core
alone, by turns in the same process: perfect scaling is 0.5. The cost of the harness, base/harness, is in every row.

## Budgets

`, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), number(t.best(1).unit))
	reportBudgets(&text, verdicts)
	fmt.Fprint(&text, "\n## Rows\n\n")
	reportRows(&text, t)
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// processor names the machine's processor, where it can be read.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " of an " + strings.TrimSpace(value)
		}
	}
	return ""
}

// readGateway takes the metric gateway/ratio from the output of go test -bench; of several the median counts.
func (t table) readGateway(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the gateway's benchmark: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if at := slices.Index(fields, gatewayRatio); at > 0 {
			if value, err := strconv.ParseFloat(fields[at-1], 64); err == nil {
				t[row{gatewayRatio, 0}] = append(t[row{gatewayRatio, 0}], sample{Value: value})
			}
		}
	}
	if len(t[row{gatewayRatio, 0}]) == 0 {
		return cmp.Or(lines.Err(), fmt.Errorf("%s has no metric %s", path, gatewayRatio))
	}
	return nil
}
