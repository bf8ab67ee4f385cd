package convert

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// element is a valid rule on its way.
type element struct {
	kind  chain.Kind
	index int
	head  chain.Head
	extra []document.Member // members as written that the rule type does not hold
}

// writer writes a rule in sentinel-golang's form, or lists why that cannot be.
type writer[R any] func(e element, rule R)

// addSection converts the rules of a kind; golang is nil where sentinel-golang has no such kind.
func addSection[R interface{ Head() chain.Head }](c *conversion, d *document.Document, kind chain.Kind, section document.Section[R], golang writer[R]) {
	if section.Err != nil {
		c.lose(chain.KindCustom, 0, "", "", "%v", section.Err)
	}
	if !section.Given || d.Array && d.Kind != kind {
		return
	}
	c.open(kind, golang != nil, len(section.Items))
	for i, item := range section.Items {
		e := element{kind: kind, index: i, head: item.Rule.Head()}
		if !c.wanted(d, e, item.Err) {
			continue
		}
		switch {
		case c.form != Golang:
			c.foreign(e, item.Rule)
			c.keep(e, item.Golang, item.Raw, item.Rule, item.Warnings)
		case golang == nil:
			c.drop(e, "", "sentinel-golang has no rules of this kind")
		case item.Golang:
			c.list(golangName(kind)).add(item.Raw)
		default:
			e.extra = unknown(item.Raw, sentinelMembers(kind))
			golang(e, item.Rule)
		}
	}
}

// open makes the list that an empty section becomes.
func (c *conversion) open(kind chain.Kind, hasGolang bool, rules int) {
	if c.form != Golang {
		c.list(c.listName(kind))
	} else if hasGolang && rules == 0 {
		c.list(golangName(kind))
	}
}

func (c *conversion) listName(kind chain.Kind) string {
	if c.form == Single {
		return document.SectionName(kind)
	}
	return kind.String()
}

func golangName(kind chain.Kind) string {
	switch kind {
	case chain.KindDegrade:
		return "circuitbreaker"
	case chain.KindParam:
		return "hotspot"
	case chain.KindFlow, chain.KindIsolation, chain.KindSystem, chain.KindAuthority, chain.KindGateway, chain.KindAPI, chain.KindCustom:
	}
	return kind.String()
}

// wanted says whether a rule goes into the result, and lists it if it should but cannot.
func (c *conversion) wanted(d *document.Document, e element, err error) bool {
	at, isMember := errors.AsType[*chain.MemberError](err)
	switch on, given := d.Slots[e.kind]; {
	case isMember:
		c.drop(e, at.Member, "%s", at.Reason)
	case err != nil:
		c.drop(e, "", "%v", err)
	case c.form == Single:
		return true
	case e.head.Disabled || e.head.Mode == chain.ModeOff || given && !on:
		if c.form == Golang {
			c.open(e.kind, golangHas(e.kind), 0)
		}
	case e.head.Mode == chain.ModeObserve, d.Mode != nil && *d.Mode == chain.ModeObserve:
		c.drop(e, "mode", "a rule that only observes would be enforced")
	default:
		return true
	}
	return false
}

func golangHas(kind chain.Kind) bool {
	return slices.Contains([]chain.Kind{chain.KindFlow, chain.KindDegrade, chain.KindSystem, chain.KindParam, chain.KindIsolation}, kind)
}

// keep writes a rule in Sentinel's form: as it was written, or translated with what it had besides.
func (c *conversion) keep(e element, golang bool, raw []byte, rule any, warnings []string) {
	to := c.list(c.listName(e.kind))
	if !golang {
		to.add(raw)
		return
	}
	for _, warning := range warnings {
		if !strings.HasPrefix(warning, "unknown member") {
			c.lose(e.kind, e.index, e.head.Resource, "", "%s", warning)
		}
	}
	text, err := marshal(rule)
	if err != nil {
		c.drop(e, "", "%v", err)
		return
	}
	to.add(with(text, unknown(raw, golangMembers(e.kind))))
}

// drop lists a rule that is left out.
func (c *conversion) drop(e element, member, reason string, args ...any) {
	c.lose(e.kind, e.index, e.head.Resource, member, reason, args...)
	c.losses[len(c.losses)-1].Dropped = true
}

// lack lists a member that is left out of a rule.
func (c *conversion) lack(e element, member, reason string, args ...any) {
	c.lose(e.kind, e.index, e.head.Resource, member, reason, args...)
}
