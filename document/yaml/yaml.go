// Package yaml reads rule documents in YAML: the same members as in JSON, with errors that name the line.
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// Format is the YAML format for document.WithFormat.
type Format struct{}

var _ document.Format = Format{}

// Parse is the function Parse.
func (Format) Parse(content []byte) (*document.Document, error) { return Parse(content) }

// ParseArray is the function ParseArray.
func (Format) ParseArray(kind chain.Kind, content []byte) (*document.Document, error) {
	return ParseArray(kind, content)
}

// Parse reads the single document, or an array whose kind its members tell, as document.Parse does for JSON.
func Parse(content []byte) (*document.Document, error) {
	text, locate, err := ToJSON(content)
	if err != nil {
		return nil, err
	}
	return document.ParseMapped(text, content, locate)
}

// ParseArray reads an array of rules of that kind, as document.ParseArray does for JSON.
func ParseArray(kind chain.Kind, content []byte) (*document.Document, error) {
	text, locate, err := ToJSON(content)
	if err != nil {
		return nil, err
	}
	return document.ParseArrayMapped(kind, text, content, locate)
}

// ToJSON returns the content as JSON, and a function that leads from an offset in the JSON to the place in the
// YAML from which the value there comes. Aliases and merge keys are resolved, keys must be strings, and there must be one
// document. Empty content gives empty text. Errors are of type *document.Error.
func ToJSON(content []byte) (text []byte, locate func(offset int) document.Position, err error) {
	d := yaml.NewDecoder(bytes.NewReader(content))
	var root, second yaml.Node
	if err := d.Decode(&root); errors.Is(err, io.EOF) {
		return nil, func(int) document.Position { return document.Position{Line: 1, Column: 1} }, nil
	} else if err != nil {
		return nil, nil, syntaxError(content, err)
	}
	if err := d.Decode(&second); err == nil {
		return nil, nil, &document.Error{Index: -1, Reason: "more than one YAML document; keep one", At: position(&second)}
	} else if !errors.Is(err, io.EOF) {
		return nil, nil, syntaxError(content, err)
	}
	w := &writer{limit: limit(len(content))}
	if err := w.value(&root, nil); err != nil {
		return nil, nil, err
	}
	return w.text.Bytes(), w.marks.locate, nil
}

// limit bounds what aliases can blow a text up to.
func limit(size int) int { return 64*size + 1<<20 }

func position(n *yaml.Node) document.Position {
	return document.Position{Line: n.Line, Column: n.Column}
}

// marks says from which place in the YAML each value of the JSON comes, in the order of the JSON.
type marks struct {
	offsets   []int
	positions []document.Position
}

func (m *marks) add(offset int, n *yaml.Node) {
	m.offsets = append(m.offsets, offset)
	m.positions = append(m.positions, position(n))
}

func (m *marks) locate(offset int) document.Position {
	at := sort.Search(len(m.offsets), func(i int) bool { return m.offsets[i] > offset }) - 1
	if at < 0 {
		return document.Position{Line: 1, Column: 1}
	}
	return m.positions[at]
}

func refuse(n *yaml.Node, reason string, args ...any) error {
	return &document.Error{Index: -1, Reason: fmt.Sprintf(reason, args...), At: position(n)}
}
