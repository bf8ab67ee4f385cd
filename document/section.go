package document

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// reader reads one rule from JSON.
type reader[R any] func(raw []byte) (rule R, warnings []string, err error)

// section reads the rules of a kind; false means that there is no such kind.
func (p *parser) section(name string, kind chain.Kind, elements []node) bool {
	switch kind {
	case chain.KindAPI:
		readRules(p, name, &p.doc.API, elements, gateway.ParseAPI, nil)
	case chain.KindGateway:
		readRules(p, name, &p.doc.Gateway, elements, gateway.Parse, nil)
	case chain.KindParam:
		readRules(p, name, &p.doc.Param, elements, hotspot.Parse, golangParam)
		warnRepeated(&p.doc.Param, func(r hotspot.Rule) (*chain.ClusterConfig, bool) { return r.ClusterConfig, r.ClusterMode })
	case chain.KindFlow:
		readRules(p, name, &p.doc.Flow, elements, flow.Parse, golangFlow)
		warnRepeated(&p.doc.Flow, func(r flow.Rule) (*chain.ClusterConfig, bool) { return r.ClusterConfig, r.ClusterMode })
	case chain.KindIsolation:
		readRules(p, name, &p.doc.Isolation, elements, isolation.Parse, golangIsolation)
	case chain.KindDegrade:
		readRules(p, name, &p.doc.Degrade, elements, circuitbreaker.Parse, golangDegrade)
	case chain.KindAuthority:
		readRules(p, name, &p.doc.Authority, elements, authority.Parse, nil)
	case chain.KindSystem:
		readRules(p, name, &p.doc.System, elements, system.Parse, golangSystem)
	case chain.KindCustom:
		return false
	default:
		return false
	}
	return true
}

// breakSection notes that the section of a kind has a wrong type.
func (p *parser) breakSection(kind chain.Kind, err error) {
	d := p.doc
	switch kind {
	case chain.KindAPI:
		d.API.Err = err
	case chain.KindGateway:
		d.Gateway.Err = err
	case chain.KindParam:
		d.Param.Err = err
	case chain.KindFlow:
		d.Flow.Err = err
	case chain.KindIsolation:
		d.Isolation.Err = err
	case chain.KindDegrade:
		d.Degrade.Err = err
	case chain.KindAuthority:
		d.Authority.Err = err
	case chain.KindSystem:
		d.System.Err = err
	case chain.KindCustom:
	}
}

// readRules reads and validates the elements; golang, which may be nil, reads those in sentinel-golang's dialect.
func readRules[R ruleset.Rule[R]](p *parser, name string, to *Section[R], elements []node, sentinel, golang reader[R]) {
	marker := dialect(elements)
	to.Given = true
	to.Items = make([]Item[R], len(elements))
	for i, element := range elements {
		item := Item[R]{Raw: element.raw, At: p.text.locate(element.offset)}
		if item.Golang = marker != ""; item.Golang {
			item.Rule, item.Warnings, item.Err = readDialect(element, marker, sentinel, golang)
		} else {
			item.Rule, item.Warnings, item.Err = sentinel(element.raw)
		}
		if item.Err == nil {
			item.Err = item.Rule.Validate()
			if item.Golang {
				item.Err = inGolang(item.Err)
			}
		}
		if item.Err != nil {
			p.refuse(name, i, element, item.Rule.Head().Resource, item.Err)
		}
		to.Items[i] = item
	}
}

// warnRepeated warns of rules in cluster mode whose flow id another rule of the section has: a token server knows one rule
// of an id.
func warnRepeated[R ruleset.Rule[R]](section *Section[R], cluster func(R) (*chain.ClusterConfig, bool)) {
	first := map[int64]int{}
	for i := range section.Items {
		item := &section.Items[i]
		config, on := cluster(item.Rule)
		head := item.Rule.Head()
		if item.Err != nil || !on || config == nil || head.Disabled || head.Mode == chain.ModeOff {
			continue
		}
		before, again := first[config.FlowID]
		if !again {
			first[config.FlowID] = i
		} else if !item.Rule.Equal(section.Items[before].Rule) {
			item.Warnings = append(slices.Clip(item.Warnings),
				fmt.Sprintf("clusterConfig.flowId %d is that of rule %d already: a token server keeps the last of them", config.FlowID, before))
		}
	}
}

// refuse notes that a rule is refused.
func (p *parser) refuse(name string, index int, element node, resource string, err error) {
	note := &Error{Section: name, Index: index, Resource: resource, Reason: err.Error(), At: p.text.locate(element.offset)}
	if at, ok := errors.AsType[*chain.MemberError](err); ok {
		note.Member, note.Reason = at.Member, at.Reason
		note.At = p.text.locate(element.find(at.Member))
	}
	p.doc.Errors = append(p.doc.Errors, note)
}
