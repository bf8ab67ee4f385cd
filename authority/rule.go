package authority

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Strategy says what a rule's list of origins means. The zero value is White.
type Strategy uint8

// The strategies, in the order of their numbers in JSON.
const (
	White Strategy = iota // only these origins pass
	Black                 // these origins are refused
)

// Number returns the value in JSON.
func (s Strategy) Number() int { return int(s) }

// String returns the strategy's name.
func (s Strategy) String() string {
	switch s {
	case White:
		return "white list"
	case Black:
		return "black list"
	}
	return fmt.Sprintf("unknown(%d)", uint8(s))
}

// Rule admits or refuses callers by origin. One rule per resource counts, the first of the list.
// Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64  // for people and logs
	Resource    string // name, or pattern if Regex; must not be blank
	LimitApp    string // origins, separated by commas; spaces around them do not count; must name at least one
	Regex       bool   // Resource is a regular expression for the whole name
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	Strategy Strategy
	Strict   bool // a white list refuses calls without an origin too; by default they pass
}

// Head returns what the rule has in common with all kinds.
func (r Rule) Head() chain.Head {
	return chain.Head{ID: r.ID, Resource: r.Resource, Regex: r.Regex, Disabled: r.Disabled, Mode: r.Mode}
}

// Origins returns the listed origins, trimmed, without empty ones.
func (r Rule) Origins() []string {
	var list []string
	for origin := range strings.SplitSeq(r.LimitApp, ",") {
		if origin = strings.TrimSpace(origin); origin != "" {
			list = append(list, origin)
		}
	}
	return list
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (r Rule) Validate() error {
	if err := ruleset.CheckHead(r.Head()); err != nil {
		return err
	}
	if len(r.Origins()) == 0 {
		return chain.Refuse("limitApp", "must name the origins, separated by commas")
	}
	return rulejson.CheckEnum("strategy", r.Strategy, White, Black)
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	return r.Resource == o.Resource && r.Regex == o.Regex && r.LimitApp == o.LimitApp && r.Strategy == o.Strategy && r.Strict == o.Strict
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	return r
}

// Warnings returns remarks on a valid rule that probably does not do what was meant.
func (r Rule) Warnings() []string {
	var list []string
	switch {
	case r.Strategy == White && !r.Strict:
		list = append(list, `calls without an origin pass this white list; "strict": true refuses them`)
	case r.Strategy == Black && r.Strict:
		list = append(list, "strict has no effect on a black list")
	}
	for _, item := range Doubtful(r.LimitApp) {
		list = append(list, fmt.Sprintf("limitApp: %q is no valid address block and stands for an origin of that very name", item))
	}
	return list
}

// Parse reads a rule from Sentinel's JSON. Absent members and null mean the default. Unknown members are
// ignored and named in the warnings. Where a member cannot be read, err is a *chain.MemberError
// that names it and the rule holds what could be read. Parse does not validate beyond that.
func Parse(text []byte) (rule Rule, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Named()
	r := Rule{
		ID: c.ID, Resource: c.Resource, LimitApp: c.LimitApp, Regex: c.Regex, Disabled: c.Disabled(),
		Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	rulejson.Enum(o, "strategy", &r.Strategy, White, Black)
	o.Bool("strict", &r.Strict)
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

// MarshalJSON writes Sentinel's members, and this project's own where they are set.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		rulejson.Common
		Strategy int  `json:"strategy"`
		Strict   bool `json:"strict,omitempty"`
	}{
		rulejson.Common{
			ID: r.ID, Resource: r.Resource, LimitApp: r.LimitApp, Regex: r.Regex, Enabled: rulejson.Off(r.Disabled),
			Mode: r.Mode, Description: r.Description, Tags: r.Tags,
		},
		r.Strategy.Number(), r.Strict,
	})
}
