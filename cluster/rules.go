package cluster

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Rules are the rules that a token server decides in one namespace. Only those in cluster mode count.
type Rules struct {
	Flow  []flow.Rule
	Param []hotspot.Rule

	brokenFlow, brokenParam bool // could not be read: what was there before stays
}

// parseServerRules reads an object of namespaces. A rule or namespace that is wrong is left out, a list of a wrong type, or without a valid rule, is
// marked as broken; the error joins all that.
func parseServerRules(path string, raw json.RawMessage) (all map[string]Rules, warnings []string, err error) {
	o := rulejson.ParseAt(path, raw)
	if err := o.Err(); err != nil {
		return nil, nil, err
	}
	all = map[string]Rules{}
	var errs []error
	for _, namespace := range o.Names() {
		text, there := o.Raw(namespace)
		if !there {
			continue
		}
		if err := checkName(prefix(path)+namespace, namespace); err != nil { // it could be taken for another one
			errs = append(errs, err)
			continue
		}
		rules, more, err := parseRules(prefix(path)+namespace, text)
		all[namespace], warnings, errs = rules, append(warnings, more...), append(errs, err)
	}
	return all, warnings, errors.Join(errs...)
}

func parseRules(path string, raw json.RawMessage) (r Rules, warnings []string, err error) {
	o := rulejson.ParseAt(path, raw)
	if err := o.Err(); err != nil {
		return Rules{brokenFlow: true, brokenParam: true}, nil, err
	}
	var errs [2]error
	if text, there := o.Raw("flowRules"); there {
		r.Flow, warnings, errs[0] = parseRuleList(path+".flowRules", text, flow.Parse)
		r.brokenFlow = r.Flow == nil
	}
	if text, there := o.Raw("paramFlowRules"); there {
		var more []string
		r.Param, more, errs[1] = parseRuleList(path+".paramFlowRules", text, hotspot.Parse)
		r.brokenParam = r.Param == nil
		warnings = append(warnings, more...)
	}
	return r, append(warnings, o.Warnings()...), errors.Join(errs[:]...)
}

// parseRuleList reads the rules of a kind; the list is nil if its type or every rule of it is wrong.
func parseRuleList[R ruleset.Rule[R]](path string, raw json.RawMessage, parse func([]byte) (R, []string, error)) ([]R, []string, error) {
	texts, err := elements(path, raw, " of rules")
	if err != nil {
		return nil, nil, err
	}
	rules, warnings, errs := make([]R, 0, len(texts)), []string(nil), []error(nil)
	for i, text := range texts {
		rule, more, err := parse(text)
		if err == nil {
			err = rule.Validate()
		}
		if err != nil {
			errs = append(errs, under(at(path, i), err))
			continue
		}
		if clusterConfig(rule) == nil {
			more = append(more, "has no effect here: clusterMode is not true")
		}
		for _, warning := range more {
			warnings = append(warnings, at(path, i)+": "+warning)
		}
		rules = append(rules, rule)
	}
	if len(rules) == 0 && len(texts) > 0 {
		return nil, warnings, errors.Join(errs...)
	}
	return rules, append(warnings, repeated(path, rules)...), errors.Join(errs...)
}

// repeated warns of flow ids that several rules in force have; of these the last one counts.
func repeated[R ruleset.Rule[R]](path string, rules []R) []string {
	var warnings []string
	before := map[int64]string{}
	for _, rule := range inCluster(rules) {
		id, resource := clusterConfig(rule).FlowID, rule.Head().Resource
		if other, again := before[id]; again {
			warnings = append(warnings, fmt.Sprintf("%s: flowId %d of %q is that of %q already, and the last one counts", path, id, resource, other))
		}
		before[id] = resource
	}
	return warnings
}

// inCluster returns the rules in force that are in cluster mode.
func inCluster[R ruleset.Rule[R]](rules []R) []R {
	var list []R
	for _, rule := range rules {
		head := rule.Head()
		if clusterConfig(rule) != nil && !head.Disabled && head.Mode != chain.ModeOff {
			list = append(list, rule)
		}
	}
	return list
}

// clusterConfig returns the cluster part of a rule in cluster mode, nil for other rules.
func clusterConfig[R any](rule R) *chain.ClusterConfig {
	switch r := any(rule).(type) {
	case flow.Rule:
		if r.ClusterMode {
			return r.ClusterConfig
		}
	case hotspot.Rule:
		if r.ClusterMode {
			return r.ClusterConfig
		}
	}
	return nil
}
