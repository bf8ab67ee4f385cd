// Package rulejson takes the JSON of rules apart member by member: it tells an absent member from a zero,
// names the member at fault, and collects members that nobody asked for.
package rulejson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/tidegate-go/tidegate/chain"
)

// Object is a JSON object being read. Getters leave their target alone where the member is absent or null,
// and note the first error; Err returns it at the end. It is used by one goroutine.
type Object struct {
	members map[string]json.RawMessage
	names   []string // in order of first appearance
	taken   map[string]bool
	path    string // of this object within the rule, with a final dot; "" for the rule itself
	notes   *notes // shared with the objects inside
}

type notes struct {
	err      error
	warnings []string
}

// Parse reads an object. Text that is something else gives an empty object with an error noted.
// Of members with the same name the last one counts.
func Parse(text []byte) *Object { return parse(text, "", "rule", &notes{}) }

// ParseAt reads an object that stands at a path of a larger text, such as "map[1]"; "" is the whole text. Its errors and
// warnings are its own.
func ParseAt(path string, text []byte) *Object {
	inside := ""
	if path != "" {
		inside = path + "."
	}
	return parse(text, inside, path, &notes{})
}

func parse(text []byte, path, name string, n *notes) *Object {
	o := &Object{members: map[string]json.RawMessage{}, taken: map[string]bool{}, path: path, notes: n}
	if !json.Valid(text) {
		o.note(chain.Refuse(name, "is not JSON"))
		return o
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		o.note(chain.Refuse(name, "must be an object, not %s", Describe(text)))
		return o
	}
	for d.More() {
		key, _ := d.Token() // the text is known to be valid
		var value json.RawMessage
		_ = d.Decode(&value)
		member, _ := key.(string)
		if _, again := o.members[member]; !again {
			o.names = append(o.names, member)
		}
		o.members[member] = value
	}
	return o
}

// Err returns the first error noted, a *chain.MemberError.
func (o *Object) Err() error { return o.notes.err }

// Warnings returns the warnings noted, and one for every member that no getter asked for.
// It is called once, when reading is done.
func (o *Object) Warnings() []string {
	o.close()
	return o.notes.warnings
}

// Warn notes a warning.
func (o *Object) Warn(format string, args ...any) {
	o.notes.warnings = append(o.notes.warnings, fmt.Sprintf(format, args...))
}

// close warns of the members that no getter asked for.
func (o *Object) close() {
	for _, name := range o.names {
		if !o.taken[name] {
			o.Warn("unknown member %q is ignored", o.path+name)
		}
	}
}

// Ignore marks members as known though nothing reads them.
func (o *Object) Ignore(names ...string) {
	for _, name := range names {
		o.taken[name] = true
	}
}

// Refuse notes an error about a member.
func (o *Object) Refuse(name, reason string, args ...any) {
	o.note(chain.Refuse(o.path+name, reason, args...))
}

func (o *Object) note(err error) {
	if o.notes.err == nil {
		o.notes.err = err
	}
}

// take returns a member's value; absent and null give false.
func (o *Object) take(name string) (json.RawMessage, bool) {
	o.taken[name] = true
	value, ok := o.members[name]
	return value, ok && string(value) != "null"
}

// Raw returns a member as written, for reading apart; ok is false where it is absent or null.
func (o *Object) Raw(name string) (text json.RawMessage, ok bool) { return o.take(name) }

// Names returns the names of the members in the order of the text.
func (o *Object) Names() []string { return o.names }

// Object returns an object inside this one, for reading in the same way.
// Its unknown members are warned of when done is called.
func (o *Object) Object(name string) (inner *Object, done func(), ok bool) {
	value, ok := o.take(name)
	if !ok {
		return nil, nil, false
	}
	inner = parse(value, o.path+name+".", o.path+name, o.notes)
	return inner, inner.close, true
}

// Array returns the elements of an array; none where the member is absent.
func (o *Object) Array(name string) []json.RawMessage {
	value, ok := o.take(name)
	if !ok {
		return nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil {
		o.Refuse(name, "must be an array, not %s", Describe(value))
	}
	return elements
}

// Element reads the element of an array as an object; the elements are those that Array gave.
func (o *Object) Element(name string, index int, text json.RawMessage) (inner *Object, done func()) {
	at := o.path + name + "[" + strconv.Itoa(index) + "]"
	inner = parse(text, at+".", at, o.notes)
	return inner, inner.close
}

// Apart reads the element of an array as an object of which errors do not concern the whole.
func (o *Object) Apart(name string, index int, text json.RawMessage) *Object {
	at := o.path + name + "[" + strconv.Itoa(index) + "]"
	return parse(text, at+".", at, &notes{})
}

// Describe names the kind of a JSON value, for errors.
func Describe(value []byte) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "the number " + string(value)
}

// Without returns the same object with some members taken out of sight.
func (o *Object) Without(names ...string) *Object {
	own := *o
	own.members = maps.Clone(o.members)
	for _, name := range names {
		delete(own.members, name)
	}
	return &own
}
