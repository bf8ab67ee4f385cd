package document

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Check returns what would become of every rule on an engine that has no other rules: the kinds in the order in which
// they are put into force. The master switch changes no verdict; with mode observe all rules in force are observed.
func (d *Document) Check() chain.Report {
	var all chain.Report
	add := func(r chain.Report) { all.Rules = append(all.Rules, r.Rules...) }
	add(verdicts(d, chain.KindAPI, d.API))
	add(verdicts(d, chain.KindGateway, d.Gateway))
	add(verdicts(d, chain.KindParam, d.Param))
	add(verdicts(d, chain.KindFlow, d.Flow))
	add(verdicts(d, chain.KindIsolation, d.Isolation))
	add(verdicts(d, chain.KindDegrade, d.Degrade))
	add(verdicts(d, chain.KindAuthority, d.Authority))
	add(verdicts(d, chain.KindSystem, d.System))
	d.observe(all)
	return all
}

func verdicts[R ruleset.Rule[R]](d *Document, kind chain.Kind, section Section[R]) chain.Report {
	set := ruleset.New(kind, func(R) (struct{}, error) { return struct{}{}, nil }, ruleset.Options[R]{
		FirstOnly: kind == chain.KindAuthority || kind == chain.KindAPI, Warn: remarks[R],
	})
	if on, given := d.Slots[kind]; given {
		set.SetOff(!on)
	}
	return set.LoadItems("", section.items())
}

// remarks returns the warnings of a rule that has some.
func remarks[R any](rule R) []string {
	if r, ok := any(rule).(interface{ Warnings() []string }); ok {
		return r.Warnings()
	}
	return nil
}

// observe turns verdicts into observed where the document puts all its rules in observe mode.
func (d *Document) observe(report chain.Report) {
	if d.Mode == nil || *d.Mode != chain.ModeObserve {
		return
	}
	for i := range report.Rules {
		if report.Rules[i].Verdict == chain.Loaded {
			report.Rules[i].Verdict = chain.Observed
		}
	}
}

// items returns the section as a rule set takes it.
func (s Section[R]) items() []ruleset.Item[R] {
	list := make([]ruleset.Item[R], len(s.Items))
	for i, item := range s.Items {
		list[i] = ruleset.Item[R]{Rule: item.Rule, Err: item.Err, Warnings: item.Warnings}
	}
	return list
}

// refused counts the elements that are refused.
func (s Section[R]) refused() int {
	n := 0
	for _, item := range s.Items {
		if item.Err != nil {
			n++
		}
	}
	return n
}
