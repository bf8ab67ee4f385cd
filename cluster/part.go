package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/datasource"
)

// Part is one of the documents that Sentinel keeps apart, each under a data id of its own. They say what the members of
// the single document's "cluster" say.
type Part uint8

// The parts.
const (
	PartMap        Part = iota // member map
	PartClient                 // member clientConfig
	PartAssign                 // member assign
	PartTransport              // member transport
	PartFlow                   // member serverFlow
	PartNamespaces             // member namespaceSet
)

var partNames = [...]string{"cluster-map", "cluster-client", "cluster-assign", "cluster-transport", "cluster-flow", "cluster-namespaces"}

// String returns the part's name, such as "cluster-map".
func (p Part) String() string {
	if int(p) < len(partNames) {
		return partNames[p]
	}
	return fmt.Sprintf("part(%d)", uint8(p))
}

// Parts returns all parts.
func Parts() []Part {
	return []Part{PartMap, PartClient, PartAssign, PartTransport, PartFlow, PartNamespaces}
}

// ParsePart returns the part of that name.
func ParsePart(name string) (Part, error) {
	for _, p := range Parts() {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%q is not one of %s", name, strings.Join(partNames[:], ", "))
}

// Check tells of a document of this part what would become of each of its elements, or of the one object that it is.
// The kind of the reports means nothing; what is reported as a resource is a machine's or namespace's name. The error
// says that the text is unreadable: not JSON, or of another type than the part.
func (p Part) Check(content []byte) (report chain.Report, warnings []string, err error) {
	raw, err := whole(content)
	if err != nil {
		return report, nil, err
	}
	switch p {
	case PartMap:
		return checkList(raw, "; write [] to leave the cluster", parseGroup, func(g Group) string { return g.MachineID }, mapRemarks)
	case PartNamespaces:
		return checkList(raw, " of strings", parseNamespace, func(name string) string { return name }, namespaceRemarks)
	case PartClient:
		return checkObject(raw, parseClientConfig)
	case PartAssign:
		return checkObject(raw, parseAssign)
	case PartTransport:
		return checkObject(raw, parseTransport)
	case PartFlow:
		return checkObject(raw, parseFlowConfig)
	}
	return report, nil, fmt.Errorf("there is no %v", p)
}

func checkObject[T any](raw json.RawMessage, parse parser[T]) (report chain.Report, warnings []string, err error) {
	_, warnings, err = parse("", raw)
	if text := named(err); text != err { //nolint:errorlint // the very same error
		return report, nil, text
	}
	report.Rules = []chain.RuleReport{verdict(0, "", err)}
	report.Rules[0].Warnings = warnings
	return report, nil, nil
}

func checkList[T any](raw json.RawMessage, hint string, parse parser[T], name func(T) string, remarks func(string, []T) []string,
) (report chain.Report, warnings []string, err error) {
	texts, err := elements("", raw, hint)
	if err != nil {
		return report, nil, named(err)
	}
	list, bad := make([]T, len(texts)), false
	for i, text := range texts {
		value, more, err := parse("", text)
		list[i], bad = value, bad || err != nil
		report.Rules = append(report.Rules, verdict(i, name(value), err))
		report.Rules[i].Warnings = more
	}
	if !bad {
		return report, remarks("", list), nil
	}
	for i, rule := range report.Rules {
		if rule.Verdict != chain.Refused {
			report.Rules[i].Verdict, report.Rules[i].Reason = chain.Refused, "another element is refused, and the list counts as a whole"
		}
	}
	return report, nil, nil
}

func verdict(index int, name string, err error) chain.RuleReport {
	report := chain.RuleReport{Kind: chain.KindCustom, Index: index, Resource: name}
	if err == nil {
		return report
	}
	report.Verdict, report.Reason = chain.Refused, err.Error()
	if wrong, ok := errors.AsType[*chain.MemberError](err); ok {
		report.Member, report.Reason = wrong.Member, wrong.Reason
	}
	return report
}

// Handler returns a handler that lets a source feed one part. A text that is wrong is refused and what was in force
// stays; a deleted document changes nothing but the state shown. What several sources say, or a document with the member
// "cluster" too, is put together part by part: the last word on each counts.
func (m *Member) Handler(p Part) datasource.Handler {
	return datasource.HandlerFuncs{
		OnUpdate: func(_ context.Context, content []byte) error {
			s, warnings, err := p.settings(content)
			if err != nil {
				return err
			}
			return m.put(warnings, func(before Settings) Settings { return s.over(before) })
		},
		OnDeleted: func(context.Context) error { m.DocumentLost(); return nil },
	}
}

// settings reads a document of this part.
func (p Part) settings(content []byte) (s Settings, warnings []string, err error) {
	switch p {
	case PartMap:
		s.Map, warnings, err = ParseMap(content)
	case PartNamespaces:
		s.NamespaceSet, warnings, err = ParseNamespaceSet(content)
	case PartClient:
		s.ClientConfig, warnings, err = pointer(ParseClientConfig(content))
	case PartAssign:
		s.Assign, warnings, err = pointer(ParseAssign(content))
	case PartTransport:
		s.Transport, warnings, err = pointer(ParseTransport(content))
	case PartFlow:
		s.ServerFlow, warnings, err = pointer(ParseFlowConfig(content))
	default:
		err = fmt.Errorf("there is no %v", p)
	}
	return s, warnings, err
}

func pointer[T any](value T, warnings []string, err error) (*T, []string, error) {
	return &value, warnings, err
}

// over returns the settings with the parts that are given in place of others.
func (s Settings) over(before Settings) Settings {
	if s.Map != nil {
		before.Map = s.Map
	}
	if s.NamespaceSet != nil {
		before.NamespaceSet = s.NamespaceSet
	}
	before.ClientConfig = either(s.ClientConfig, before.ClientConfig)
	before.Assign = either(s.Assign, before.Assign)
	before.Transport = either(s.Transport, before.Transport)
	before.ServerFlow = either(s.ServerFlow, before.ServerFlow)
	return before
}

func either[T any](first, second *T) *T {
	if first != nil {
		return first
	}
	return second
}
