package document

import (
	"bytes"
	"crypto/md5" //nolint:gosec // names a revision, protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Parse reads a text: the single document, or an array whose kind its members tell (see DetectKind).
// The error, an *Error, says that the text as a whole is unreadable; what is wrong in parts stands in Document.Errors.
func Parse(content []byte) (*Document, error) {
	return parse(bare(content), content, chain.KindCustom, false)
}

// ParseArray reads an array of rules of that kind; an object is an error. null means the same as [].
func ParseArray(kind chain.Kind, content []byte) (*Document, error) {
	return parse(bare(content), content, kind, true)
}

// ParseMapped is Parse for JSON that was made from another notation: locate leads from an offset in the JSON to the
// position of that value in the original, which gives the revision.
func ParseMapped(content, original []byte, locate func(offset int) Position) (*Document, error) {
	return parse(text{content, locate}, original, chain.KindCustom, false)
}

// ParseArrayMapped is ParseArray for JSON that was made from another notation, as with ParseMapped.
func ParseArrayMapped(kind chain.Kind, content, original []byte, locate func(offset int) Position) (*Document, error) {
	return parse(text{content, locate}, original, kind, true)
}

// bare returns the text without a byte order mark.
func bare(content []byte) text {
	return newText(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")))
}

func parse(t text, original []byte, kind chain.Kind, array bool) (*Document, error) {
	if len(bytes.TrimSpace(t.json)) == 0 {
		return nil, &Error{Index: -1, Reason: "the text is empty; write [] or {} for no rules", At: t.locate(0)}
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	sum := md5.Sum(original) //nolint:gosec // names a revision, protects nothing
	p := &parser{text: t, doc: &Document{SchemaVersion: SchemaVersion, Revision: hex.EncodeToString(sum[:]), broken: map[string]bool{}}}
	root := t.root()
	switch {
	case root.isArray() || root.isNull():
		return p.array(root, kind, array)
	case root.isObject() && !array:
		p.single(root)
		return p.doc, nil
	case array:
		return nil, &Error{Index: -1, Reason: fmt.Sprintf("must be an array of %v rules, not %s", kind, rulejson.Describe(root.raw)), At: t.locate(root.offset)}
	}
	return nil, &Error{Index: -1, Reason: "must be an object or an array, not " + rulejson.Describe(root.raw), At: t.locate(root.offset)}
}

type parser struct {
	text text
	doc  *Document
}

func (p *parser) array(root node, kind chain.Kind, fixed bool) (*Document, error) {
	var elements []node
	if root.isArray() {
		elements = root.elements()
	}
	if !fixed && len(elements) > 0 {
		kind = detect(elements)
	}
	p.doc.Array, p.doc.Kind, p.doc.null = true, kind, root.isNull()
	if fixed || len(elements) > 0 {
		if !p.section("", kind, elements) {
			return nil, &Error{Index: -1, Reason: fmt.Sprintf("there are no arrays of %v rules", kind), At: p.text.locate(root.offset)}
		}
	}
	return p.doc, nil
}

// single reads the members of the single document. Of members with the same name the last one counts.
func (p *parser) single(root node) {
	members := root.members()
	seen := map[string]int{}
	for i, m := range members {
		if _, again := seen[m.name]; again {
			p.doc.Warnings = append(p.doc.Warnings, fmt.Sprintf("member %q is there twice, the last one counts", m.name))
		}
		seen[m.name] = i
	}
	for i, m := range members {
		if seen[m.name] == i {
			p.member(m)
		}
	}
	p.doc.known = len(p.doc.extra) < len(seen)
	if on := p.doc.Enabled; on != nil && !*on {
		p.doc.Warnings = append(p.doc.Warnings, "sentinelEnabled is false: no rule refuses anything while it is")
	}
}

func (p *parser) member(m member) {
	if kind, isSection := sectionKind(m.name); isSection {
		p.rules(m, kind)
		return
	}
	switch m.name {
	case "schemaVersion", "revision", "sentinelEnabled", "mode", "slots", "cluster":
		if !m.isNull() {
			p.setting(m)
		}
	case "$schema": // for editors
	default:
		p.doc.extra = append(p.doc.extra, Member{m.name, m.raw})
		p.doc.Warnings = append(p.doc.Warnings, fmt.Sprintf("unknown member %q is ignored", m.name))
	}
}

func sectionKind(name string) (chain.Kind, bool) {
	kinds := Kinds()
	at := slices.IndexFunc(kinds, func(k chain.Kind) bool { return SectionName(k) == name })
	if at < 0 {
		return 0, false
	}
	return kinds[at], true
}

// rules reads the section of a kind.
func (p *parser) rules(m member, kind chain.Kind) {
	switch {
	case m.isNull():
	case m.isArray():
		p.section(m.name, kind, m.elements())
	default:
		p.fail(m, "must be an array, not %s", rulejson.Describe(m.raw))
		p.breakSection(kind, p.doc.Errors[len(p.doc.Errors)-1])
	}
}

func (p *parser) setting(m member) {
	switch m.name {
	case "schemaVersion":
		if err := json.Unmarshal(m.raw, &p.doc.SchemaVersion); err != nil || p.doc.SchemaVersion < 1 {
			p.doc.SchemaVersion = SchemaVersion
			p.fail(m, "must be a whole number from 1, not %s", rulejson.Describe(m.raw))
		} else if p.doc.SchemaVersion > SchemaVersion {
			p.doc.Warnings = append(p.doc.Warnings, fmt.Sprintf("schemaVersion %d is newer than %d: only what version %d knows is read",
				p.doc.SchemaVersion, SchemaVersion, SchemaVersion))
		}
	case "revision":
		var revision string
		if json.Unmarshal(m.raw, &revision) != nil {
			p.fail(m, "must be a string, not %s", rulejson.Describe(m.raw))
		} else if revision != "" {
			p.doc.Revision, p.doc.RevisionGiven = revision, true
		}
	case "sentinelEnabled":
		p.enabled(m)
	case "mode":
		p.mode(m)
	case "slots":
		p.slots(m)
	case "cluster":
		if !m.isObject() {
			p.fail(m, "must be an object, not %s", rulejson.Describe(m.raw))
			return
		}
		p.doc.Cluster, p.doc.cluster, p.doc.locate = m.raw, m.node, p.text.locate
	}
}

// enabled accepts true, false, "true", "false", 0 and 1.
func (p *parser) enabled(m member) {
	on := false
	switch string(m.raw) {
	case "true", `"true"`, "1":
		on = true
	case "false", `"false"`, "0":
	default:
		p.fail(m, `must be true or false, not %s`, rulejson.Describe(m.raw))
		return
	}
	p.doc.Enabled = &on
}

func (p *parser) mode(m member) {
	var mode chain.Mode
	if err := json.Unmarshal(m.raw, &mode); err != nil || mode == chain.ModeOff {
		p.fail(m, `must be "enforce" or "observe"; sentinelEnabled switches everything off`)
		return
	}
	p.doc.Mode = &mode
}

func (p *parser) slots(m member) {
	if !m.isObject() {
		p.fail(m, "must be an object of kinds with true or false, not %s", rulejson.Describe(m.raw))
		return
	}
	p.doc.Slots = map[chain.Kind]bool{}
	for _, slot := range m.members() {
		kind, err := chain.ParseKind(slot.name)
		if err != nil || kind == chain.KindCustom || kind == chain.KindAPI {
			p.doc.Warnings = append(p.doc.Warnings, fmt.Sprintf("slots: unknown kind %q is ignored", slot.name))
			continue
		}
		var on bool
		switch {
		case slot.isNull():
		case json.Unmarshal(slot.raw, &on) == nil:
			p.doc.Slots[kind] = on
		default:
			slot.name = "slots." + slot.name
			p.doc.broken[slot.name] = true
			p.fail(slot, "must be true or false, not %s", rulejson.Describe(slot.raw))
		}
	}
}

// fail notes an error about a member of the single document.
func (p *parser) fail(m member, reason string, args ...any) {
	err := &Error{Section: m.name, Index: -1, Reason: fmt.Sprintf(reason, args...), At: p.text.locate(m.offset)}
	p.doc.broken[m.name] = true
	p.doc.Errors = append(p.doc.Errors, err)
}
