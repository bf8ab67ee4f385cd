package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/document/convert"
)

// rulesConvert rewrites the rules of the files in another form. It returns 0 if everything could be expressed, 1 if
// not, 2 if a file cannot be read or written.
func rulesConvert(args []string, stdout, stderr io.Writer) int {
	f := newFlags("rules convert", "-to FORM [flags] FILE...",
		"Rewrites rules as arrays (one per kind, without what is switched off), as the single document, or as sentinel-golang's arrays.\n"+
			"Several files are taken together. What the form cannot express is listed and makes the exit code 1.", stderr)
	var kind kindFlag
	to := f.String("to", "", "`FORM` of the result: arrays, document or golang")
	f.Var(&kind, "kind", "the files are arrays of this `KIND`: "+kindNames+" (default: found by the members)")
	dir := f.String("o", "", "write flow.json, degrade.json and so on into this `DIR` (default: a single result to standard output)")
	lossy := f.Bool("lossy", false, "exit with 0 though something could not be expressed")
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if *to == "" {
		say(stderr, "-to is needed: name the form of the result")
		f.Usage()
		return exitUsage
	}
	form, err := convert.ParseForm(*to)
	if err != nil {
		say(stderr, "-to: %v", err)
		return exitUsage
	}
	if f.NArg() == 0 {
		f.Usage()
		return exitUsage
	}
	var inputs []convert.Input
	for _, path := range f.Args() {
		d, err := readRules(path, kind.kind)
		if err != nil {
			say(stderr, "unreadable: %v", err)
			return exitUsage
		}
		inputs = append(inputs, convert.Input{Name: path, Document: d})
	}
	files, losses := convert.To(form, inputs...)
	for _, loss := range losses {
		say(stderr, "not expressible: %v", loss)
	}
	if code := writeRules(files, *dir, stdout, stderr); code != exitOK {
		return code
	}
	if len(losses) > 0 && !*lossy {
		return exitFault
	}
	return exitOK
}

// writeRules writes the results into the directory, or a single one to standard output if none is given.
func writeRules(files []convert.File, dir string, stdout, stderr io.Writer) int {
	if dir == "" {
		return writeOnlyRules(files, stdout, stderr)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a directory of documents that others read
		say(stderr, "%v", err)
		return exitUsage
	}
	for _, file := range files {
		if err := datasource.WriteFile(filepath.Join(dir, file.Name), file.Content); err != nil {
			say(stderr, "%v", err)
			return exitUsage
		}
	}
	return exitOK
}

func writeOnlyRules(files []convert.File, stdout, stderr io.Writer) int {
	if len(files) > 1 {
		names := make([]string, len(files))
		for i, file := range files {
			names[i] = file.Name
		}
		say(stderr, "the result is %d files (%s); name a directory for them with -o", len(files), strings.Join(names, ", "))
		return exitUsage
	}
	for _, file := range files {
		if _, err := stdout.Write(file.Content); err != nil {
			say(stderr, "%v", err)
			return exitUsage
		}
	}
	return exitOK
}
