package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/system"
)

// kindNames returns the kinds of rules that scenarios may have.
func kindNames() []string { return []string{"flow", "degrade", "paramFlow", "authority", "system"} }

// kindsOf returns the engine's rule sets by the names that scenarios give to their kinds. A scenario that uses
// a kind which is not in the table is skipped.
func kindsOf(e *tidegate.Engine) map[string]*kind {
	return map[string]*kind{
		"flow":      newKind(chain.KindFlow, e.FlowRules(), flow.Parse),
		"degrade":   newKind(chain.KindDegrade, e.DegradeRules(), circuitbreaker.Parse),
		"paramFlow": newKind(chain.KindParam, e.ParamRules(), hotspot.Parse),
		"authority": newKind(chain.KindAuthority, e.AuthorityRules(), authority.Parse),
		"system":    newKind(chain.KindSystem, e.SystemRules(), system.Parse),
	}
}

// nameOf returns a scenario's name for a kind of rules.
func nameOf(k chain.Kind) string {
	if k == chain.KindParam {
		return "paramFlow"
	}
	return k.String()
}

// kind is the rules of one kind in an engine.
type kind struct {
	which chain.Kind
	// load replaces the rules. A rule that the engine refuses is no error, a member that no rule has is.
	load func(texts []json.RawMessage) error
	// index returns which rule of the list in force, as written, a rule of the engine is.
	index func(rule any) (int, bool)
	// dropped says whether the engine refused that rule of the list; ok is false if there is no such rule.
	dropped func(index int) (dropped, ok bool)
	// same says whether a rule of the engine is that rule of the list.
	same func(index int, rule any) bool
}

func newKind[R interface{ Equal(R) bool }](
	which chain.Kind, set *tidegate.RuleSet[R], parse func([]byte) (R, []string, error),
) *kind {
	var items []tidegate.Item[R]
	var report tidegate.Report
	inForce := func(i int) bool {
		v := report.Rules[i].Verdict
		return v == chain.Loaded || v == chain.Observed
	}
	same := func(i int, rule any) bool {
		r, ok := rule.(R)
		return ok && items[i].Err == nil && items[i].Rule.Equal(r)
	}
	return &kind{
		which: which,
		same:  same,
		load: func(texts []json.RawMessage) error {
			next, err := decodeRules(texts, parse)
			if err != nil {
				return err
			}
			items, report = next, set.LoadFrom("", next)
			return nil
		},
		index: func(rule any) (int, bool) {
			for i := range items {
				if inForce(i) && same(i, rule) {
					return i, true
				}
			}
			return 0, false
		},
		dropped: func(i int) (dropped, ok bool) {
			if i < 0 || i >= len(items) {
				return false, false
			}
			return report.Rules[i].Verdict == chain.Refused, true
		},
	}
}

func decodeRules[R any](texts []json.RawMessage, parse func([]byte) (R, []string, error)) ([]tidegate.Item[R], error) {
	items := make([]tidegate.Item[R], len(texts))
	for i, text := range texts {
		rule, warnings, err := parse(text)
		for _, warning := range warnings {
			if strings.HasPrefix(warning, "unknown member") {
				return nil, fmt.Errorf("rule %d: %s", i, strings.TrimSuffix(warning, " is ignored"))
			}
		}
		items[i] = tidegate.Item[R]{Rule: rule, Err: err}
	}
	return items, nil
}
