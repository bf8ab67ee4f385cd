// Bench measures a guarded call beside its peers and compares the figures with the project's budgets.
//
//	bench [-rounds 5] [-short] [-only REGEXP] [-tolerance 1.15] [-results FILE] [-gateway FILE]
//	bench -measure ROW [-cores 1] [-cpuprofile FILE]
//
// Every row is measured in a process of its own, in rounds whose order is shuffled, until it has -rounds clean
// samples; a sample is clean if the yardstick beside it had its cores. The tables show medians. A budget that is missed
// within the tolerance is said to be and does no harm, nor does one without a clean sample. The exit code is 1 if one is
// missed by more or if a row of this project allocates; 2 if something could not be measured.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/tokens"
)

type options struct {
	rounds    int
	short     bool
	only      string
	limit     time.Duration
	tolerance float64
	results   string
	gateway   string
}

func main() {
	if was, err := tokens.Child(os.Stdin, os.Stdout); was {
		exit(err, 2)
		return
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "clean samples per row; with -short one round is all there is")
	flag.BoolVar(&o.short, "short", false, "one round of the rows that budgets need, without slow figures")
	flag.StringVar(&o.only, "only", "", "measure only the rows whose name matches this `regexp`")
	flag.DurationVar(&o.limit, "time", 20*time.Minute, "begin no round after so long")
	flag.Float64Var(&o.tolerance, "tolerance", 1.15, "fail if a budget is missed by more than this `factor`")
	flag.StringVar(&o.results, "results", "", "write the tables to this `file` as well")
	flag.StringVar(&o.gateway, "gateway", "", "output `file` of the gateway's benchmark, for its row")
	child := flag.String("measure", "", "measure this one `row` in this process and print it as JSON")
	cores := flag.Int("cores", 1, "with -measure: on how many cores")
	profile := flag.String("cpuprofile", "", "with -measure: write a profile for go tool pprof to this `file`")
	flag.Parse()
	if *child != "" {
		exit(profiled(*profile, func() error { return measureOne(os.Stdout, *child, *cores, o.short) }), 2)
		return
	}
	verdicts, err := run(os.Stdout, os.Stderr, o)
	exit(err, 2)
	if noisy := in(stateNoisy, verdicts); len(noisy) > 0 {
		fmt.Fprintf(os.Stderr, "bench: %d budgets have no clean sample, as others used the machine\n", len(noisy))
	}
	if missed := in(stateMissed, verdicts); len(missed) > 0 {
		exit(fmt.Errorf("%d budgets missed by more than %.0f %%: %s", len(missed), 100*(o.tolerance-1), strings.Join(missed, "; ")), 1)
	}
}

func exit(err error, code int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(code) //nolint:forbidigo // a command ends its process
	}
}

// run measures, prints the tables and returns the verdicts.
func run(out, progress io.Writer, o options) ([]verdict, error) {
	filter, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	jobs := rowsToMeasure(o.short, filter)
	t := table{}
	if o.gateway != "" {
		if err := t.readGateway(o.gateway); err != nil {
			return nil, err
		}
	}
	if err := t.measure(jobs, o, progress); err != nil {
		return nil, err
	}
	verdicts := judge(t, o.tolerance)
	report(out, t, verdicts)
	if o.results != "" {
		if err := writeResults(o.results, t, verdicts); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}
