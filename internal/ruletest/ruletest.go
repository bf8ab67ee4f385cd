// Package ruletest holds the tests that every kind of rule must pass.
package ruletest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Parser reads a rule from JSON.
type Parser[R any] func(text []byte) (rule R, warnings []string, err error)

// A Case is one rule in JSON and what becomes of it.
type Case struct {
	JSON    string
	Member  string // refused: the member at fault; "": the rule is valid
	Reason  string // refused: part of the reason
	Warning string // part of one of the warnings of a valid rule
}

// Run checks every case: verdict, member, reason and warning, and that a valid rule survives JSON and Clone.
func Run[R ruleset.Rule[R]](t *testing.T, parse Parser[R], cases []Case) {
	t.Helper()
	for _, c := range cases {
		rule, warnings, err := parse([]byte(c.JSON))
		if err == nil {
			err = rule.Validate()
		}
		if c.Member != "" {
			checkRefused(t, c, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v, want valid", c.JSON, err)
			continue
		}
		if remarks, ok := any(rule).(interface{ Warnings() []string }); ok {
			warnings = append(warnings, remarks.Warnings()...)
		}
		checkWarnings(t, c, warnings)
		RoundTrip(t, parse, rule)
	}
}

func checkRefused(t *testing.T, c Case, err error) {
	t.Helper()
	var member *chain.MemberError
	switch {
	case !errors.As(err, &member):
		t.Errorf("%s: error %v, want member %s at fault", c.JSON, err, c.Member)
	case member.Member != c.Member || !strings.Contains(member.Reason, c.Reason):
		t.Errorf("%s: %q: %q, want %q: ...%q", c.JSON, member.Member, member.Reason, c.Member, c.Reason)
	}
}

func checkWarnings(t *testing.T, c Case, warnings []string) {
	t.Helper()
	all := strings.Join(warnings, "; ")
	if c.Warning == "" && all != "" || !strings.Contains(all, c.Warning) {
		t.Errorf("%s: warnings %q, want %q", c.JSON, all, c.Warning)
	}
}

// RoundTrip checks that a valid rule is the same after Clone, and after JSON but for defaults written out.
func RoundTrip[R ruleset.Rule[R]](t *testing.T, parse Parser[R], rule R) {
	t.Helper()
	if c := rule.Clone(); !reflect.DeepEqual(c, rule) || !rule.Equal(c) {
		t.Errorf("clone %+v differs from %+v", c, rule)
	}
	text, err := json.Marshal(rule)
	if err != nil {
		t.Errorf("%+v: %v", rule, err)
		return
	}
	again, _, err := parse(text)
	if err != nil {
		t.Errorf("%s: %v, want what was written to be read", text, err)
		return
	}
	if !again.Equal(rule) || !rule.Equal(again) || again.Head() != rule.Head() {
		t.Errorf("%s reads as %+v, want %+v", text, again, rule)
	}
	if err := again.Validate(); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	second, _ := json.Marshal(again)
	if string(second) != string(text) {
		t.Errorf("written again %s, want %s", second, text)
	}
	var direct R
	if err := json.Unmarshal(text, &direct); err != nil || !direct.Equal(rule) {
		t.Errorf("json.Unmarshal(%s): %+v, %v", text, direct, err)
	}
}

// Differ checks that each of the rules, in JSON, equals itself and none of the others.
func Differ[R ruleset.Rule[R]](t *testing.T, parse Parser[R], texts ...string) {
	t.Helper()
	rules := make([]R, len(texts))
	for i, text := range texts {
		rule, _, err := parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rules[i] = rule
	}
	for i, a := range rules {
		for j, b := range rules {
			if a.Equal(b) != (i == j) {
				t.Errorf("%s Equal %s: %v", texts[i], texts[j], i != j)
			}
		}
	}
}

// Same checks that all the rules, in JSON, are equal.
func Same[R ruleset.Rule[R]](t *testing.T, parse Parser[R], texts ...string) {
	t.Helper()
	first, _, err := parse([]byte(texts[0]))
	if err != nil {
		t.Fatalf("%s: %v", texts[0], err)
	}
	for _, text := range texts[1:] {
		rule, _, err := parse([]byte(text))
		if err != nil || !rule.Equal(first) || !first.Equal(rule) {
			t.Errorf("%s is not equal to %s (%v)", text, texts[0], err)
		}
	}
}

// Fuzz reads arbitrary text: nothing may panic, and what is valid must survive RoundTrip.
func Fuzz[R ruleset.Rule[R]](f *testing.F, parse Parser[R], seeds ...string) {
	for _, seed := range append(seeds, `{}`, `[]`, `null`, `{"resource":1e999}`, `{"id":99999999999999999999}`) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rule, _, err := parse(text)
		if remarks, ok := any(rule).(interface{ Warnings() []string }); ok {
			remarks.Warnings()
		}
		if err == nil && rule.Validate() == nil {
			RoundTrip(t, parse, rule)
		}
	})
}
