package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/yaml"
)

// rules runs the subcommands for rule documents.
func rules(args []string, stdout, stderr io.Writer) int {
	return dispatch("tidegate rules", []command{
		{"check", "tell what becomes of every rule", rulesCheck},
		{"convert", "rewrite rules in another form", rulesConvert},
	}, args, stdout, stderr)
}

const kindNames = "flow, degrade, system, authority, param, gateway, api, isolation"

// kindFlag is the flag -kind; its zero value lets the members of an array tell.
type kindFlag struct{ kind chain.Kind }

// String returns the kind's name.
func (k *kindFlag) String() string {
	if k == nil || k.kind == chain.KindCustom {
		return ""
	}
	return k.kind.String()
}

// Set takes a kind's name.
func (k *kindFlag) Set(name string) error {
	kind, err := chain.ParseKind(name)
	if err != nil || !slices.Contains(document.Kinds(), kind) {
		return errors.New("must be one of " + kindNames)
	}
	k.kind = kind
	return nil
}

// newFlags returns a flag set that reports to stderr and never ends the process. The arguments are those of the usage
// line.
func newFlags(name, arguments, about string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		say(stderr, "usage: tidegate %s\n%s", strings.TrimSpace(name+" "+arguments), about)
		f.PrintDefaults()
	}
	return f
}

// flagsFailed returns the exit code for an error of a flag set, which has reported it.
func flagsFailed(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return exitUsage
}

// isYAML says whether a file is YAML by its name.
func isYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

// readRules reads a rule file: YAML if its name ends so, else JSON; an array of the kind if one is given.
func readRules(path string, kind chain.Kind) (*document.Document, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var format document.Format = document.JSON{}
	if isYAML(path) {
		format = yaml.Format{}
	}
	var d *document.Document
	if kind != chain.KindCustom {
		d, err = format.ParseArray(kind, content)
	} else {
		d, err = format.Parse(content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// readJSON reads a file as JSON, from YAML if its name ends so.
func readJSON(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil || !isYAML(path) {
		return content, err
	}
	text, _, err := yaml.ToJSON(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}
