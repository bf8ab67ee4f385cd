package envoyrls

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate-go/tidegate/document"
	documentyaml "github.com/tidegate-go/tidegate/document/yaml"
)

// Names of the formats.
const (
	formatRatelimit = "envoyproxy/ratelimit"
	formatSentinel  = "sentinel"
)

// maxFaults bounds the errors and the warnings that are told of one file.
const maxFaults = 20

// Check reads a rule file as Load does. It returns what is legal in it but probably not meant, such as unknown members,
// and an error that names every fault with its line.
func Check(content []byte) (warnings []string, err error) {
	_, r, err := read(content)
	return r.warnings, err
}

// read reads a rule file of either format. The format is told by the members of the descriptors: "resources" or "key".
func read(content []byte) (*domain, *reader, error) {
	r := &reader{}
	if _, _, err := documentyaml.ToJSON(content); err != nil { // checks syntax, repeated members and endless aliases
		return nil, r, err
	}
	var root yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(content)).Decode(&root); err != nil || len(root.Content) == 0 {
		return nil, r, &document.Error{Index: -1, Reason: "no rules; a rule file has a domain and descriptors"}
	}
	d := r.file(root.Content[0])
	if len(r.faults) > 0 {
		return nil, r, errors.Join(r.faults...)
	}
	return d, r, nil
}

// reader collects what is wrong with a file.
type reader struct {
	faults   []error
	warnings []string
}

// file reads the file as a whole.
func (r *reader) file(n *yaml.Node) *domain {
	d := &domain{overrides: &rule{}}
	var list *yaml.Node
	for _, m := range r.members(n, "the file") {
		switch m.name {
		case "domain":
			d.name = r.text(m)
		case "descriptors":
			list = m.value
		default:
			r.unknown(m)
		}
	}
	if strings.TrimSpace(d.name) == "" {
		r.refuse(n, "the domain is missing or blank; set domain to the rate limit filter's domain")
	}
	d.overrides.path = d.name
	var elements []*yaml.Node
	if list != nil {
		elements = r.elements(list, "descriptors")
	}
	if len(elements) == 0 && len(r.faults) == 0 {
		r.refuse(n, "there are no descriptors; a domain without limits has one descriptor without rate_limit")
	}
	if d.format = r.format(elements); d.format == formatSentinel {
		r.sentinel(d, elements)
	} else {
		r.ratelimit(d, elements)
	}
	return d
}

// format tells the format by the first descriptor that has a member only one of them knows.
func (r *reader) format(descriptors []*yaml.Node) string {
	for _, n := range descriptors {
		for _, m := range pairs(n) {
			switch m.name {
			case "resources", "count":
				return formatSentinel
			case "key", "value", "rate_limit", "descriptors":
				return formatRatelimit
			}
		}
	}
	return formatRatelimit
}

func (r *reader) refuse(n *yaml.Node, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, &document.Error{
			Index: -1, Reason: fmt.Sprintf(format, args...), At: document.Position{Line: n.Line, Column: n.Column},
		})
	}
}

func (r *reader) warn(n *yaml.Node, format string, args ...any) {
	if len(r.warnings) < maxFaults {
		r.warnings = append(r.warnings, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
	}
}

func (r *reader) unknown(m member) { r.warn(m.at, "unknown member %q is ignored", m.name) }
