package document

import (
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// ownSwitches are the switches that a loader's document set and nobody has to know but itself: a document that stops
// mentioning a switch returns it to its default, one that never mentioned it leaves it alone.
type ownSwitches struct {
	enabled, observe bool
	slots            map[chain.Kind]bool
}

// apply puts a document into force: what switches off first, then the rules of each kind, each kind at once, then what
// switches on. The caller holds mu.
func (l *Loader) apply(d *Document) (report chain.Report, problems []error) {
	for _, err := range d.Errors {
		problems = append(problems, err)
	}
	later := l.switchOff(d)
	add := func(r chain.Report, err error) {
		report.Rules = append(report.Rules, r.Rules...)
		if err != nil {
			problems = append(problems, err)
		}
	}
	t := l.target
	add(load(l, chain.KindAPI, t.api, d.API))
	add(load(l, chain.KindGateway, t.gateway, d.Gateway))
	add(load(l, chain.KindParam, t.param, d.Param))
	add(load(l, chain.KindFlow, t.flow, d.Flow))
	add(load(l, chain.KindIsolation, t.isolation, d.Isolation))
	add(load(l, chain.KindDegrade, t.degrade, d.Degrade))
	add(load(l, chain.KindAuthority, t.authority, d.Authority))
	add(load(l, chain.KindSystem, t.system, d.System))
	d.observe(report)
	for _, switchOn := range later {
		switchOn()
	}
	return report, problems
}

// load puts one section into force. Of a section that is broken, or rejected as a whole, the last good rules stay.
func load[R ruleset.Rule[R]](l *Loader, kind chain.Kind, set rules[R], section Section[R]) (chain.Report, error) {
	switch {
	case section.Err != nil:
		return chain.Report{}, nil // stands in the document's errors
	case l.strict && section.refused() > 0:
		return rejected(l, kind, section), fmt.Errorf("%s: rejected as a whole because %d of its rules are refused; its last good rules stay",
			SectionName(kind), section.refused())
	}
	report := set.LoadFrom(l.source, section.items())
	for i, rule := range report.Rules {
		if rule.Verdict == chain.Refused && i < len(section.Items) && section.Items[i].Err == nil {
			return report, fmt.Errorf("%v", rule) // valid, but the engine could not build it
		}
	}
	return report, nil
}

// rejected reports on a section of which nothing is loaded.
func rejected[R ruleset.Rule[R]](l *Loader, kind chain.Kind, section Section[R]) chain.Report {
	report := verdicts(&Document{}, kind, section)
	for i := range report.Rules {
		rule := &report.Rules[i]
		if rule.Source = l.source; rule.Verdict != chain.Refused {
			rule.Verdict, rule.Member, rule.Reason = chain.Refused, "", "another rule of the list is refused, and the list is strict"
		}
	}
	return report
}

// switchOff does what must take effect before the rules and returns what must take effect after them.
// The caller holds mu.
func (l *Loader) switchOff(d *Document) (later []func()) {
	set := func(on bool, do func(bool)) {
		if on {
			later = append(later, func() { do(true) })
		} else {
			do(false)
		}
	}
	for _, kind := range Kinds() {
		if on, change := l.slot(d, kind); change {
			set(on, func(on bool) { l.target.SetKindEnabled(kind, on) })
		}
	}
	switch {
	case d.Mode != nil:
		l.own.observe = true
		set(*d.Mode != chain.ModeObserve, func(enforce bool) { l.target.SetObserve(!enforce) })
	case l.own.observe && !d.broken["mode"]:
		l.own.observe = false
		set(true, func(bool) { l.target.SetObserve(false) })
	}
	switch {
	case d.Enabled != nil:
		l.own.enabled = true
		set(*d.Enabled, l.target.SetEnabled)
	case l.own.enabled && !d.broken["sentinelEnabled"]:
		l.own.enabled = false
		set(true, l.target.SetEnabled)
	}
	return later
}

// slot says whether the switch of a kind must be set, and to what.
func (l *Loader) slot(d *Document, kind chain.Kind) (on, change bool) {
	if on, given := d.Slots[kind]; given {
		if l.own.slots == nil {
			l.own.slots = map[chain.Kind]bool{}
		}
		l.own.slots[kind] = true
		return on, true
	}
	if !l.own.slots[kind] || d.broken["slots"] || d.broken["slots."+kind.String()] {
		return false, false
	}
	delete(l.own.slots, kind)
	return true, true
}
