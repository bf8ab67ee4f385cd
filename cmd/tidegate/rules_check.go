package main

import (
	"errors"
	"io"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/document"
)

// clusterKindNames are the kinds of cluster documents.
const clusterKindNames = "cluster-map, cluster-client, cluster-assign, cluster-transport, cluster-flow, cluster-namespaces"

// checkFlag is the flag -kind of rules check: a kind of rules, or of cluster documents.
type checkFlag struct {
	kindFlag
	part *cluster.Part // nil: rules
}

// String returns the kind's name.
func (k *checkFlag) String() string {
	if k != nil && k.part != nil {
		return k.part.String()
	}
	return (&k.kindFlag).String()
}

// Set takes a kind's name.
func (k *checkFlag) Set(name string) error {
	if part, err := cluster.ParsePart(name); err == nil {
		*k = checkFlag{part: &part}
		return nil
	}
	k.part = nil
	if err := k.kindFlag.Set(name); err != nil {
		return errors.New("must be one of " + kindNames + ", " + clusterKindNames)
	}
	return nil
}

// rulesCheck tells what becomes of every rule of the files. It returns 0 if none is refused, 1 if one is or a part of
// a document is wrong, 2 if a file cannot be read.
func rulesCheck(args []string, stdout, stderr io.Writer) int {
	f := newFlags("rules check", "[flags] FILE...",
		"Prints a line for every rule: KIND[INDEX] RESOURCE: loaded, observed, duplicate, disabled, or refused with member and reason.\n"+
			"Lines that begin with warning: or error: say more. The member cluster of a single document is checked too; documents of\n"+
			"the cluster that stand alone need -kind.\n"+
			"Exits with 1 if a rule is refused, with 2 if a file is unreadable.", stderr)
	var kind checkFlag
	f.Var(&kind, "kind", "the files are arrays of this `KIND`: "+kindNames+" (default: found by the members); or documents of the cluster: "+clusterKindNames)
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if f.NArg() == 0 {
		f.Usage()
		return exitUsage
	}
	worst := exitOK
	for _, path := range f.Args() {
		worst = max(worst, checkFile(stdout, stderr, path, kind))
	}
	return worst
}

// checkFile prints the verdicts on a file.
func checkFile(stdout, stderr io.Writer, path string, kind checkFlag) int {
	var err error
	code := exitUsage
	if kind.part != nil {
		code, err = checkPart(stdout, path, *kind.part)
	} else if d, problem := readRules(path, kind.kind); problem == nil {
		code = printVerdicts(stdout, path, d)
	} else {
		err = problem
	}
	if err != nil {
		say(stderr, "unreadable: %v", err)
	}
	return code
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
	code = max(code, checkCluster(w, path, d))
	return max(code, printReport(w, d.Check(), ""))
}

// printReport prints the verdicts on rules, of the kind that each names or of another.
func printReport(w io.Writer, report chain.Report, kind string) int {
	code := exitOK
	for _, rule := range report.Rules {
		named := func(line string) string { return line }
		if kind != "" {
			named = func(line string) string { return kind + strings.TrimPrefix(line, rule.Kind.String()) }
		}
		say(w, "%s", named(rule.String()))
		if rule.Verdict == chain.Refused {
			code = exitFault
		}
		for _, remark := range remarks(rule) {
			say(w, "warning: %s", named(remark))
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
