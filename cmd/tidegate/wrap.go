package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/tidegate-go/tidegate/codegen"
)

// listFlag is a flag that may be given several times or with a comma-separated list.
type listFlag []string

// String returns the list.
func (l *listFlag) String() string {
	if l == nil {
		return ""
	}
	return strings.Join(*l, ",")
}

// Set adds to the list.
func (l *listFlag) Set(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			return errors.New("a name is empty")
		}
		*l = append(*l, item)
	}
	return nil
}

// wrapCommand generates guarded implementations of interfaces. It returns 0 if they are written, 1 if one cannot be
// generated, 2 if the arguments are wrong or a file or package cannot be read or written. Unless all can be
// generated, nothing is written.
func wrapCommand(args []string, stdout, stderr io.Writer) int {
	f := newFlags("wrap", "-type NAME [flags] [DIRECTORY | IMPORT PATH]",
		"Writes Go types that implement interfaces by guarded calls of an implementation. Use it as\n"+
			"  //go:generate tidegate wrap -type Store\n"+
			"The interfaces are those of the package in the directory, by default the current one.\n"+
			"Exits with 1 if an interface cannot be guarded, with 2 if a package is unreadable.", stderr)
	var types listFlag
	f.Var(&types, "type", "the interface `NAME`s, separated by commas; the flag may be repeated. import/path.Name names one of another package")
	output := f.String("output", "", "the `FILE` for all of them (default: TYPE_guarded.go for each, beside the interface)")
	name := f.String("package", "", "`NAME` of the generated code's package (default: that of the package in the file's directory)")
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if len(types) == 0 || f.NArg() > 1 {
		f.Usage()
		return exitUsage
	}
	files, err := codegen.Generate(context.Background(), codegen.Config{
		Source: f.Arg(0), Types: types, Output: *output, Package: *name,
	})
	if err != nil {
		say(stderr, "tidegate wrap: %v", err)
		if _, refused := errors.AsType[*codegen.Error](err); refused {
			return exitFault
		}
		return exitUsage
	}
	return writeGuarded(files, stdout, stderr)
}

func writeGuarded(files []codegen.File, stdout, stderr io.Writer) int {
	for _, file := range files {
		if err := os.WriteFile(file.Name, file.Content, 0o644); err != nil { //nolint:gosec // source code is for all to read
			say(stderr, "tidegate wrap: %v", err)
			return exitUsage
		}
		say(stdout, "wrote %s", file.Name)
	}
	return exitOK
}
