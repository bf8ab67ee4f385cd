package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/tidegate-go/tidegate/cmd/tidegate/internal/demo"
)

// maxDemo bounds the length of the demonstration, in seconds.
const maxDemo = 3600

// demoCommand shows the gateway guard a small service. It returns 0 when the demonstration is over.
func demoCommand(args []string, stdout, stderr io.Writer) int {
	f := newFlags("demo", "[flags]", "Starts a small service, the gateway before it with a rule file, and a load generator. Shows per route and second what\n"+
		"passed and what rules blocked: a reject limit that holds, a breaker that opens and recovers, bursts smoothed by\n"+
		"throttling, and a rule file edited while it runs. In a terminal it is a table, else lines of key=value pairs.", stderr)
	cluster := f.Bool("cluster", false, "show instead a token server and three instances that share one limit; in the middle the server is killed and comes back")
	seconds := f.Int("seconds", 20, "how long it takes; from 5 `seconds` on everything is seen")
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if f.NArg() > 0 || *seconds < 1 || *seconds > maxDemo {
		say(stderr, "tidegate demo: -seconds must be from 1 to %d, and there are no arguments", maxDemo)
		f.Usage()
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	size := terminal(stdout)
	show := demo.Run
	if *cluster {
		show = demo.RunCluster
	}
	err := show(ctx, demo.Options{Seconds: *seconds, Terminal: size != nil, Size: size, Out: stdout})
	if err != nil {
		say(stderr, "tidegate demo: %v", err)
		return exitFault
	}
	return exitOK
}

// terminal returns the size of the terminal that the output is, nil if it is none.
func terminal(w io.Writer) func() (columns, lines int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (columns, lines int) {
		columns, lines, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, lines
	}
}
