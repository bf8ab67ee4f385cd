// Icount counts the instructions of a guarded call, which a noisy machine does not change, and compares them with
// stored numbers.
//
//	icount [-stored instructions.json] [-tolerance 0.1] [-only REGEXP] [-update]
//
// Each case runs twice under valgrind's callgrind, on one core and without collector, with different numbers of
// calls; the slope is the cost of a call. Without valgrind, or under another Go version than the stored numbers
// have, it says so and does nothing. The exit code is 1 if a case needs more instructions than stored, beyond the
// tolerance, 2 if something could not be measured.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
)

type options struct {
	stored    string
	tolerance float64
	only      string
	update    bool
}

func main() {
	var o options
	flag.StringVar(&o.stored, "stored", "instructions.json", "`file` with the stored numbers")
	flag.Float64Var(&o.tolerance, "tolerance", 0.1, "share by which a number may grow")
	flag.StringVar(&o.only, "only", "", "count only the cases whose name matches this `regexp`")
	flag.BoolVar(&o.update, "update", false, "store the numbers instead of comparing")
	name := flag.String("run", "", "make calls of this `case` in this process")
	calls := flag.Int("calls", 0, "with -run: how many")
	flag.Parse()
	if *name != "" {
		exit(makeCalls(*name, *calls), 2)
		return
	}
	grown, err := run(os.Stdout, o)
	exit(err, 2)
	if grown > 0 {
		exit(fmt.Errorf("%d cases need more than %.0f %% above the stored instructions; make them cheaper, or store the new numbers by -update", grown, 100*o.tolerance), 1)
	}
}

func exit(err error, code int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "icount:", err)
		os.Exit(code) //nolint:forbidigo // a command ends its process
	}
}

// run counts every case and returns how many grew beyond the tolerance.
func run(out io.Writer, o options) (grown int, err error) {
	filter, err := regexp.Compile(o.only)
	if err != nil {
		return 0, fmt.Errorf("-only: %w", err)
	}
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		fmt.Fprintln(out, "skipped: valgrind is not installed")
		return 0, nil
	}
	old, err := readStored(o.stored)
	if err != nil && !o.update {
		return 0, err
	}
	if reason := old.differs(); reason != "" && !o.update {
		fmt.Fprintln(out, "skipped:", reason)
		return 0, nil
	}
	now := stored{Go: runtime.Version(), Platform: platform(), Instructions: map[string]int{}}
	if o.only != "" && old.differs() == "" {
		now.Instructions = old.Instructions // those that the filter leaves out
	}
	fmt.Fprintf(out, "%-54s %9s %9s\n", "instructions per call", "stored", "now")
	for _, name := range cases() {
		if !filter.MatchString(name) {
			continue
		}
		got, err := perCall(valgrind, name)
		if err != nil {
			return grown, err
		}
		verdict := ""
		before, known := old.Instructions[name]
		if !o.update && known && float64(got) > float64(before)*(1+o.tolerance) {
			verdict = "  GREW"
			grown++
		}
		fmt.Fprintf(out, "%-54s %9d %9d%s\n", name, before, got, verdict)
		now.Instructions[name] = got
	}
	if o.update {
		return 0, now.write(o.stored)
	}
	return grown, nil
}
