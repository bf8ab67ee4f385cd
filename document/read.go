package document

import (
	"encoding/json"
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
)

// read parses a text and refuses one that would drop rules in force though it is probably not meant to.
// The caller holds mu.
func (l *Loader) read(content []byte) (*Document, error) {
	if l.fixed != chain.KindCustom {
		return l.format.ParseArray(l.fixed, content)
	}
	d, err := l.format.Parse(content)
	if err == nil {
		err = l.meant(d)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// meant says why a text is no successor of the one in force. {} replaces a single document but no array, null an array
// but no single document, and an array of another kind needs rules that are of that kind. The caller holds mu.
func (l *Loader) meant(d *Document) error {
	before := l.status.Document
	switch {
	case d.null && (before == nil || !before.Array):
		return whole("must be an object or an array, not null")
	case before == nil:
		return nil
	case !d.Array && !d.known && (before.Array || len(d.extra) > 0):
		return whole("the object has no member of a rule document, such as flowRules; write [] for no rules")
	case d.Array && d.Rules() > 0 && (!before.Array || before.Kind != d.Kind && before.Kind != chain.KindCustom):
		return l.successor(before, d)
	}
	return nil
}

// successor says why an array cannot replace a document of another form or kind.
func (l *Loader) successor(before, d *Document) error {
	refused := d.refusals()
	was := "a single document"
	if before.Array {
		was = fmt.Sprintf("an array of %v rules", before.Kind)
	}
	switch n := d.Rules(); {
	case len(refused) == n:
		return whole(fmt.Sprintf("by its members an array of %v rules, none of which is valid, after %s", d.Kind, was), refused...)
	case l.strict && len(refused) > 0:
		return whole(fmt.Sprintf("by its members an array of %v rules after %s, rejected as a whole because %d of its rules are refused",
			d.Kind, was, len(refused)), refused...)
	}
	for _, r := range refused {
		if before.Array && detect([]node{{raw: r.raw}}) == before.Kind {
			return whole(fmt.Sprintf("%v and %v rules in one array; keep each kind in an array of its own", before.Kind, d.Kind), r)
		}
	}
	return nil
}

// refusal is an element that is refused.
type refusal struct {
	raw json.RawMessage
	at  Position
	err error
}

// whole returns an error about the text as a whole, at the first of the elements that show it.
func whole(reason string, because ...refusal) error {
	err := &Error{Index: -1, Reason: reason}
	if len(because) > 0 {
		err.At = because[0].at
		err.Reason += ": " + because[0].err.Error()
	}
	return err
}

// refusals returns the elements of all sections that are refused.
func (d *Document) refusals() []refusal {
	var list []refusal
	list = appendRefusals(list, d.API)
	list = appendRefusals(list, d.Gateway)
	list = appendRefusals(list, d.Param)
	list = appendRefusals(list, d.Flow)
	list = appendRefusals(list, d.Isolation)
	list = appendRefusals(list, d.Degrade)
	list = appendRefusals(list, d.Authority)
	return appendRefusals(list, d.System)
}

func appendRefusals[R any](to []refusal, section Section[R]) []refusal {
	for _, item := range section.Items {
		if item.Err != nil {
			to = append(to, refusal{item.Raw, item.At, item.Err})
		}
	}
	return to
}
