// Command tidegate guards HTTP services with rules, and works with rule documents.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// The exit codes of all commands.
const (
	exitOK    = 0
	exitFault = 1 // what was looked at is not as it should be
	exitUsage = 2 // the command could not do its work
)

// command is one command or subcommand.
type command struct {
	name    string
	summary string
	run     func(args []string, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"gateway", "run a reverse proxy under rules", gatewayCommand},
		{"token-server", "decide for a fleet: one limit for all instances", tokenServerCommand},
		{"token-request", "ask a token server", tokenRequestCommand},
		{"demo", "show the gateway, or a cluster of instances, at work", demoCommand},
		{"rules", "check and convert rule documents", rules},
		{"trace", "replay recorded decisions on the engine", traceCommand},
		{"wrap", "generate guarded implementations of Go interfaces", wrapCommand},
		{"version", "tell which build this is", versionCommand},
	}
}

// run runs the command that the first argument names and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return dispatch("tidegate", commands(), args, stdout, stderr)
}

// dispatch runs the command of the table that the first argument names.
func dispatch(name string, table []command, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr, name, table)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout, name, table)
		return exitOK
	}
	for _, c := range table {
		if c.name == args[0] {
			return c.run(args[1:], stdout, stderr)
		}
	}
	say(stderr, "%s: unknown command %q", name, args[0])
	usage(stderr, name, table)
	return exitUsage
}

func usage(w io.Writer, name string, table []command) {
	say(w, "usage: %s COMMAND [flags] [arguments]", name)
	for _, c := range table {
		say(w, "  %-13s %s", c.name, c.summary)
	}
	say(w, "%s COMMAND -h shows a command's flags", name)
}

// say writes one line. There is nobody to tell if that fails.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}
