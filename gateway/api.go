package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// API is a named group of paths, which rules with ResourceMode APIGroup limit together.
// By itself it decides nothing. API definitions are values; nobody changes one that was loaded.
type API struct {
	ID          int64  // for people and logs
	Name        string // apiName in JSON; must not be blank
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	Predicates []Predicate // predicateItems in JSON; a request belongs to the group if any matches its path
}

// Predicate matches paths. One with a blank pattern matches none.
type Predicate struct {
	Pattern       string
	MatchStrategy Match // Exact, Prefix (Ant style: *, ** and ?) or Regex
}

// Head returns what the definition has in common with rules of all kinds; its name stands for the resource.
func (a API) Head() chain.Head {
	return chain.Head{ID: a.ID, Resource: a.Name, Disabled: a.Disabled, Mode: a.Mode}
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (a API) Validate() error {
	if strings.TrimSpace(a.Name) == "" {
		return chain.Refuse("apiName", "must not be blank")
	}
	if err := ruleset.CheckHead(a.Head()); err != nil {
		return err
	}
	if len(a.Predicates) == 0 {
		return chain.Refuse("predicateItems", "must hold at least one item")
	}
	for at, p := range a.Predicates {
		member := fmt.Sprintf("predicateItems[%d]", at)
		if err := rulejson.CheckEnum(member+".matchStrategy", p.MatchStrategy, Exact, Prefix, Regex); err != nil {
			return err
		}
		if p.MatchStrategy == Regex {
			if err := checkPattern(member+".pattern", p.Pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

// Equal says whether the definitions are alike: all but id, mode, enabled, description and tags is the same.
func (a API) Equal(o API) bool { return a.Name == o.Name && slices.Equal(a.Predicates, o.Predicates) }

// Clone returns a copy that shares nothing with the definition.
func (a API) Clone() API {
	a.Tags = slices.Clone(a.Tags)
	a.Predicates = slices.Clone(a.Predicates)
	return a
}

// Warnings returns remarks on a valid definition that probably does not do what was meant.
func (a API) Warnings() []string {
	var list []string
	for at, p := range a.Predicates {
		if strings.TrimSpace(p.Pattern) == "" {
			list = append(list, fmt.Sprintf("predicateItems[%d] has a blank pattern and matches nothing", at))
		}
	}
	return list
}

// ParseAPI reads a definition from Sentinel's JSON. Absent members and null mean the default. Unknown members are
// ignored and named in the warnings. Where a member cannot be read, err is a *chain.MemberError
// that names it and the definition holds what could be read. ParseAPI does not validate beyond that.
func ParseAPI(text []byte) (api API, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Remarks()
	a := API{ID: c.ID, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags}
	o.String("apiName", &a.Name)
	for at, element := range o.Array("predicateItems") {
		in, done := o.Element("predicateItems", at, element)
		var p Predicate
		in.String("pattern", &p.Pattern)
		rulejson.Enum(in, "matchStrategy", &p.MatchStrategy, Exact, Prefix, Regex)
		done()
		a.Predicates = append(a.Predicates, p)
	}
	return a, o.Warnings(), o.Err()
}

// UnmarshalJSON is ParseAPI without the warnings; on error the definition is unchanged.
func (a *API) UnmarshalJSON(text []byte) error {
	api, _, err := ParseAPI(text)
	if err == nil {
		*a = api
	}
	return err
}

type wirePredicate struct {
	Pattern       string `json:"pattern"`
	MatchStrategy int    `json:"matchStrategy"`
}

// MarshalJSON writes Sentinel's members, and this project's own where they are set.
func (a API) MarshalJSON() ([]byte, error) {
	items := make([]wirePredicate, len(a.Predicates))
	for i, p := range a.Predicates {
		items[i] = wirePredicate{p.Pattern, p.MatchStrategy.Number()}
	}
	return json.Marshal(struct {
		rulejson.Common
		Name       string          `json:"apiName"`
		Predicates []wirePredicate `json:"predicateItems"`
	}{
		rulejson.Common{ID: a.ID, Enabled: rulejson.Off(a.Disabled), Mode: a.Mode, Description: a.Description, Tags: a.Tags},
		a.Name, items,
	})
}
