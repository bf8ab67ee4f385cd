package tidegate

import (
	"errors"

	"github.com/tidegate-go/tidegate/chain"
)

var errNotMade = errors.New("this engine was not made by New")

// noRules refuses every rule: it stands for the rules of an engine that New did not make.
type noRules[R any] struct{}

func (noRules[R]) Load(source string, rules []R) chain.Report { return refuseAll(source, len(rules)) }

func (noRules[R]) LoadItems(source string, items []Item[R]) chain.Report {
	return refuseAll(source, len(items))
}

func (noRules[R]) LoadResource(_ string, rules []R) chain.Report { return refuseAll("", len(rules)) }

func refuseAll(source string, count int) chain.Report {
	report := chain.Report{Rules: make([]chain.RuleReport, count)}
	for i := range report.Rules {
		report.Rules[i] = chain.RuleReport{Source: source, Index: i, Verdict: chain.Refused, Reason: errNotMade.Error()}
	}
	return report
}

func (noRules[R]) Rules() []R                          { return nil }
func (noRules[R]) Status() chain.Report                { return chain.Report{} }
func (noRules[R]) Subscribe(func([]R)) (cancel func()) { return func() {} }
