package main

import (
	"io"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// rulesCheck tells what becomes of every rule of the files. It returns 0 if none is refused, 1 if one is or a part of
// a document is wrong, 2 if a file cannot be read.
func rulesCheck(args []string, stdout, stderr io.Writer) int {
	f := newFlags("rules check", "[flags] FILE...",
		"Prints a line for every rule: KIND[INDEX] RESOURCE: loaded, observed, duplicate, disabled, or refused with member and reason.\n"+
			"Lines that begin with warning: or error: say more.\n"+
			"Exits with 1 if a rule is refused, with 2 if a file is unreadable.", stderr)
	var kind kindFlag
	f.Var(&kind, "kind", "the files are arrays of this `KIND`: "+kindNames+" (default: found by the members)")
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if f.NArg() == 0 {
		f.Usage()
		return exitUsage
	}
	worst := exitOK
	for _, path := range f.Args() {
		d, err := readRules(path, kind.kind)
		if err != nil {
			say(stderr, "unreadable: %v", err)
			worst = exitUsage
			continue
		}
		worst = max(worst, printVerdicts(stdout, path, d))
	}
	return worst
}

// printVerdicts prints the verdicts on a document and what else there is to say of it.
func printVerdicts(w io.Writer, path string, d *document.Document) int {
	code := exitOK
	for _, warning := range d.Warnings {
		say(w, "warning: %s: %s", path, warning)
	}
	for _, err := range d.Errors {
		if err.Index < 0 {
			say(w, "error: %s: %v", path, err)
			code = exitFault
		}
	}
	for _, rule := range d.Check().Rules {
		say(w, "%v", rule)
		if rule.Verdict == chain.Refused {
			code = exitFault
		}
		for _, remark := range remarks(rule) {
			say(w, "warning: %s", remark)
		}
	}
	return code
}

// remarks returns what there is to say of a rule besides its verdict, each as one line that begins like the verdict's.
func remarks(rule chain.RuleReport) []string {
	texts := rule.Warnings
	if rule.Verdict != chain.Refused && rule.Reason != "" {
		texts = append([]string{rule.Reason}, texts...)
	}
	rule = chain.RuleReport{Kind: rule.Kind, Index: rule.Index, Resource: rule.Resource, Verdict: chain.Refused}
	verdict := chain.Refused.String()
	prefix := strings.TrimSuffix(rule.String(), verdict)
	lines := make([]string, len(texts))
	for i, text := range texts {
		rule.Reason = text // is escaped like that of a refused rule
		lines[i] = prefix + strings.TrimPrefix(rule.String(), prefix+verdict+": ")
	}
	return lines
}
