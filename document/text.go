package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text is JSON with a way from offsets to positions in what the user wrote.
type text struct {
	json   []byte
	locate func(offset int) Position
}

// A mark is an offset whose position is known.
type mark struct {
	offset int
	Position
}

// markEvery is how many bytes of a line are between marks, so that finding a place in a text of one line, as programs
// write it, does not take longer the longer the text is.
const markEvery = 1 << 10

// newText returns a text whose positions are its own.
func newText(content []byte) text {
	marks := []mark{{0, Position{1, 1}}}
	for i, c := range content {
		switch last := marks[len(marks)-1]; {
		case c == '\n':
			marks = append(marks, mark{i + 1, Position{last.Line + 1, 1}})
		case i-last.offset >= markEvery && utf8.RuneStart(c):
			marks = append(marks, mark{i, last.to(content[last.offset:i])})
		}
	}
	return text{content, func(offset int) Position {
		offset = min(max(offset, 0), len(content))
		m := marks[sort.Search(len(marks), func(i int) bool { return marks[i].offset > offset })-1]
		return m.to(content[m.offset:offset])
	}}
}

// to returns the position behind what follows the mark on its line.
func (m mark) to(behind []byte) Position {
	return Position{m.Line, m.Column + utf8.RuneCount(behind)}
}

// node is a value within a text.
type node struct {
	raw    json.RawMessage
	offset int // in the whole text
}

// member is a named value within an object.
type member struct {
	name string
	node
}

// check finds the first place where the text is not JSON.
func (t text) check() *Error {
	var whole json.RawMessage
	err := json.Unmarshal(t.json, &whole)
	if err == nil {
		return nil
	}
	offset := len(t.json)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(syntax.Offset) - 1 // the offset is behind the character at fault
		if strings.Contains(syntax.Error(), "unexpected end") {
			offset = len(t.json)
		}
	}
	return &Error{Index: -1, Reason: "not JSON: " + err.Error(), At: t.locate(offset)}
}

// root returns the text's value. The text is known to be JSON.
func (t text) root() node {
	start := len(t.json) - len(bytes.TrimLeft(t.json, " \t\r\n"))
	return node{bytes.TrimSpace(t.json), start}
}

// members takes an object apart, in the order of the text. The node is known to be an object.
func (n node) members() []member {
	var list []member
	d := json.NewDecoder(bytes.NewReader(n.raw))
	_, _ = d.Token()
	for d.More() {
		key, _ := d.Token()
		name, _ := key.(string)
		list = append(list, member{name, n.next(d)})
	}
	return list
}

// elements takes an array apart. The node is known to be an array.
func (n node) elements() []node {
	var list []node
	d := json.NewDecoder(bytes.NewReader(n.raw))
	_, _ = d.Token()
	for d.More() {
		list = append(list, n.next(d))
	}
	return list
}

func (n node) next(d *json.Decoder) node {
	var value json.RawMessage
	_ = d.Decode(&value)
	return node{value, n.offset + int(d.InputOffset()) - len(value)}
}

func (n node) isObject() bool { return n.raw[0] == '{' }
func (n node) isArray() bool  { return n.raw[0] == '[' }
func (n node) isNull() bool   { return string(n.raw) == "null" }

// find returns where a member of a rule stands, such as "count" or "paramFlowItemList[2].classType";
// where it is not there, the place of what should hold it.
func (n node) find(path string) int {
	step, rest, _ := strings.Cut(path, ".")
	name, index, indexed := strings.Cut(strings.TrimSuffix(step, "]"), "[")
	at, found := n, false
	if n.isObject() {
		for _, m := range n.members() {
			if m.name == name { // the last one counts
				at, found = m.node, true
			}
		}
	}
	if i, err := strconv.Atoi(index); found && indexed && err == nil && at.isArray() {
		if elements := at.elements(); i >= 0 && i < len(elements) {
			at = elements[i]
		}
	}
	if !found || rest == "" {
		return at.offset
	}
	return at.find(rest)
}
