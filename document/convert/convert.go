// Package convert rewrites rule documents between their forms: the single document, Sentinel's arrays of one kind
// each, and the arrays of sentinel-golang. Members that this project does not know are kept.
package convert

import (
	"fmt"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// Form is a form that documents can have.
type Form uint8

// The forms.
const (
	// Arrays is one array per kind, as Sentinel's agents read them. They do not know enabled, mode, slots and
	// sentinelEnabled, so rules and kinds that are switched off are left out. Members that they ignore, though a rule
	// means something else without them, stay and are listed as losses.
	Arrays Form = iota
	// Single is the single document.
	Single
	// Golang is one array per kind of sentinel-golang's: flow, isolation, circuitbreaker, hotspot, system. What is
	// switched off is left out.
	Golang
)

// ParseForm returns the form of that name: arrays, document or golang.
func ParseForm(name string) (Form, error) {
	switch name {
	case "arrays":
		return Arrays, nil
	case "document":
		return Single, nil
	case "golang":
		return Golang, nil
	}
	return 0, fmt.Errorf("unknown form %q; use arrays, document or golang", name)
}

// Input is a document to convert.
type Input struct {
	Name     string // for the list of losses
	Document *document.Document
}

// File is a result.
type File struct {
	Name    string // such as flow.json
	Content []byte
}

// Loss is something that the new form cannot express.
type Loss struct {
	Input    string
	Kind     chain.Kind // KindCustom: the loss is no rule's
	Index    int
	Resource string
	Member   string // "": the rule as a whole
	Reason   string
	Dropped  bool // the whole rule is left out, because without the member it would do something else
}

// String returns one line.
func (l Loss) String() string {
	line := ""
	if l.Input != "" {
		line = l.Input + ": "
	}
	if l.Kind != chain.KindCustom {
		rule := chain.RuleReport{Kind: l.Kind, Index: l.Index, Resource: l.Resource, Verdict: chain.Loaded}
		line += strings.TrimSuffix(rule.String(), chain.Loaded.String())
	}
	if l.Dropped {
		line += "left out: "
	}
	if l.Member != "" {
		line += l.Member + ": "
	}
	return line + l.Reason
}

// To converts the inputs, taken together, to the form. Rules that are refused are left out and listed among the
// losses, as is what the form cannot express. Arrays without a rule become one: of flow rules if their kind is unknown.
func To(form Form, inputs ...Input) (files []File, losses []Loss) {
	c := &conversion{form: form, lists: map[string]*list{}}
	for _, in := range inputs {
		c.add(in)
	}
	if form == Single {
		return []File{{"document.json", c.single()}}, c.losses
	}
	if len(c.names) == 0 {
		c.openEmpty(inputs)
	}
	for _, name := range c.names {
		files = append(files, File{name + ".json", c.lists[name].array()})
	}
	return files, c.losses
}

// conversion is one run of To.
type conversion struct {
	form     Form
	names    []string // of lists, in the order in which they came up
	lists    map[string]*list
	settings settings // of the single document
	losses   []Loss
	input    string // being added
}

// list returns the list of that name, new if need be.
func (c *conversion) list(name string) *list {
	l := c.lists[name]
	if l == nil {
		l = &list{}
		c.lists[name] = l
		c.names = append(c.names, name)
	}
	return l
}

// openEmpty makes the list that the first array without a rule becomes.
func (c *conversion) openEmpty(inputs []Input) {
	for _, in := range inputs {
		if !in.Document.Array || len(in.Document.Check().Rules) > 0 {
			continue
		}
		kind := in.Document.Kind
		if kind == chain.KindCustom {
			kind = chain.KindFlow
		}
		if c.form == Golang {
			c.list(golangName(kind))
		} else {
			c.list(c.listName(kind))
		}
		return
	}
}

func (c *conversion) lose(kind chain.Kind, index int, resource, member, reason string, args ...any) {
	c.losses = append(c.losses, Loss{
		Input: c.input, Kind: kind, Index: index, Resource: resource, Member: member, Reason: fmt.Sprintf(reason, args...),
	})
}

// add converts one input.
func (c *conversion) add(in Input) {
	c.input = in.Name
	d := in.Document
	c.addSettings(d)
	addSection(c, d, chain.KindFlow, d.Flow, c.golangFlow)
	addSection(c, d, chain.KindDegrade, d.Degrade, c.golangDegrade)
	addSection(c, d, chain.KindSystem, d.System, c.golangSystem)
	addSection(c, d, chain.KindAuthority, d.Authority, nil)
	addSection(c, d, chain.KindParam, d.Param, c.golangParam)
	addSection(c, d, chain.KindGateway, d.Gateway, nil)
	addSection(c, d, chain.KindAPI, d.API, nil)
	addSection(c, d, chain.KindIsolation, d.Isolation, c.golangIsolation)
}
