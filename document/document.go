package document

import (
	"encoding/json"
	"fmt"

	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// SchemaVersion is the newest version of the document's form that this package knows.
const SchemaVersion = 1

// Document is what a text says. Arrays are documents with one section. It is not changed after parsing.
type Document struct {
	Array         bool       // the text is an array of one kind, not the single document
	Kind          chain.Kind // of an array; KindCustom where an empty one does not tell
	SchemaVersion int        // 1 where the text gives none
	Revision      string     // as given, else the MD5 of the text in hex
	RevisionGiven bool
	Enabled       *bool // sentinelEnabled; nil: not given, or not readable, which Errors then tells
	Mode          *chain.Mode
	Slots         map[chain.Kind]bool // per-kind switches as given

	API       Section[gateway.API]
	Gateway   Section[gateway.Rule]
	Param     Section[hotspot.Rule]
	Flow      Section[flow.Rule]
	Isolation Section[isolation.Rule]
	Degrade   Section[circuitbreaker.Rule]
	Authority Section[authority.Rule]
	System    Section[system.Rule]

	Cluster json.RawMessage // the member as written; nil: absent, null or not an object

	Errors   []*Error // everything wrong, rules included, in the order of the text
	Warnings []string // about the document itself; those about rules are with the rules
	broken   map[string]bool
	extra    []Member
	cluster  node                      // the member Cluster
	locate   func(offset int) Position // leads from it to a place in the text; nil: unknown
	known    bool                      // the single document has a member that this package knows
	null     bool                      // the text is null, which stands for an empty array
}

// Member is a member of an object, as written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Unknown returns the members of the single document that this package does not know, for tools that keep them.
func (d *Document) Unknown() []Member { return d.extra }

// Section is the rules of one kind.
type Section[R any] struct {
	Given bool  // the member is there and not null; an empty array is given
	Err   error // the member has a wrong type: whatever it supplied before stays
	Items []Item[R]
}

// Item is one element of a section.
type Item[R any] struct {
	Rule     R               // what could be read, also where Err is set
	Err      error           // why it is refused, a *chain.MemberError; nil: it is valid
	Warnings []string        // what is legal but probably not meant
	Raw      json.RawMessage // the element as written
	Golang   bool            // it was written in sentinel-golang's dialect
	At       Position        // of the element
}

// Position is a place in the text. Lines and columns count from 1, columns in characters; 0 is unknown.
type Position struct {
	Line, Column int
}

// String returns "line L, column C".
func (p Position) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// Error is one thing wrong in a document.
type Error struct {
	Section  string // member of the document, "" for the text as a whole or for an array
	Index    int    // of the rule in its section; -1: the error is about no rule
	Resource string // of the rule
	Member   string // at fault, within the rule
	Reason   string
	At       Position
}

// Error returns position, place and reason.
func (e *Error) Error() string {
	text := ""
	if e.At.Line > 0 {
		text = e.At.String() + ": "
	}
	text += e.Section
	if e.Index >= 0 {
		text += fmt.Sprintf("[%d]", e.Index)
		if e.Resource != "" {
			text += " " + e.Resource
		}
	}
	if e.Section != "" || e.Index >= 0 {
		text += ": "
	}
	if e.Member != "" {
		text += e.Member + ": "
	}
	return text + e.Reason
}

// Kinds returns the kinds of rules that documents hold, in the order in which they are put into force.
func Kinds() []chain.Kind {
	return []chain.Kind{
		chain.KindAPI, chain.KindGateway, chain.KindParam, chain.KindFlow,
		chain.KindIsolation, chain.KindDegrade, chain.KindAuthority, chain.KindSystem,
	}
}

// SectionName returns the member of the single document that holds the kind's rules, "" for other kinds.
func SectionName(kind chain.Kind) string {
	switch kind {
	case chain.KindAPI:
		return "gatewayApiDefinitions"
	case chain.KindGateway:
		return "gatewayFlowRules"
	case chain.KindParam:
		return "paramFlowRules"
	case chain.KindFlow:
		return "flowRules"
	case chain.KindIsolation:
		return "isolationRules"
	case chain.KindDegrade:
		return "degradeRules"
	case chain.KindAuthority:
		return "authorityRules"
	case chain.KindSystem:
		return "systemRules"
	case chain.KindCustom:
	}
	return ""
}

// Rules returns how many elements the sections hold, refused ones included.
func (d *Document) Rules() int {
	return len(d.API.Items) + len(d.Gateway.Items) + len(d.Param.Items) + len(d.Flow.Items) +
		len(d.Isolation.Items) + len(d.Degrade.Items) + len(d.Authority.Items) + len(d.System.Items)
}
