// Rename gives the repository another module path: in every go.mod, Go source, document, configuration and schema
// identifier below the root directory.
//
//	go run ./internal/rename host/owner/name
//
// The old path is that of the root's go.mod. It changes files in place; look at the difference and run the tests
// before committing.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository's root `directory`")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: rename [-root DIR] MODULE, for example rename example.com/acme/tidegate")
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	old, changed, err := rename(*root, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "renamed %s to %s in %d files\n", old, flag.Arg(0), changed)
}
