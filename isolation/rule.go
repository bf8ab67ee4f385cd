package isolation

import (
	"encoding/json"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Rule limits the calls of a resource that are in flight; a call of n takes n permits.
// Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64  // for people and logs
	Resource    string // name, or pattern if Regex; must not be blank
	LimitApp    string // kept, without effect
	Regex       bool   // Resource is a regular expression for the whole name; each resource has permits of its own
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	Count int64 // permits; 0 refuses all
}

// Head returns what the rule has in common with all kinds.
func (r Rule) Head() chain.Head {
	return chain.Head{ID: r.ID, Resource: r.Resource, Regex: r.Regex, Disabled: r.Disabled, Mode: r.Mode}
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (r Rule) Validate() error {
	if err := ruleset.CheckHead(r.Head()); err != nil {
		return err
	}
	if r.Count < 0 {
		return chain.Refuse("count", "must not be negative: %d", r.Count)
	}
	return nil
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	return r.Resource == o.Resource && r.Regex == o.Regex && rulejson.SameApp(r.LimitApp, o.LimitApp) && r.Count == o.Count
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	return r
}

// Parse reads a rule from JSON. Absent members and null mean the default. Unknown members are
// ignored and named in the warnings. Where a member cannot be read, err is a *chain.MemberError
// that names it and the rule holds what could be read. Parse does not validate beyond that.
func Parse(text []byte) (rule Rule, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Named()
	r := Rule{
		ID: c.ID, Resource: c.Resource, LimitApp: c.LimitApp, Regex: c.Regex, Disabled: c.Disabled(),
		Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	o.Int64("count", &r.Count)
	return r, o.Warnings(), o.Err()
}

// UnmarshalJSON is Parse without the warnings; on error the rule is unchanged.
func (r *Rule) UnmarshalJSON(text []byte) error {
	rule, _, err := Parse(text)
	if err == nil {
		*r = rule
	}
	return err
}

// MarshalJSON writes the rule; members at their default are left out.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		rulejson.Common
		Count int64 `json:"count"`
	}{
		rulejson.Common{
			ID: r.ID, Resource: r.Resource, LimitApp: r.LimitApp, Regex: r.Regex, Enabled: rulejson.Off(r.Disabled),
			Mode: r.Mode, Description: r.Description, Tags: r.Tags,
		},
		r.Count,
	})
}
