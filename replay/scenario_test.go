package replay_test

import (
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/replay"
)

// scenario returns a scenario named t with the steps.
func scenario(steps ...string) string {
	return `{"name":"t","startMs":1700000000000,"rules":{"flow":[{"resource":"r","count":1}]},"steps":[` + strings.Join(steps, ",") + `]}`
}

const (
	passing = `{"atMs":1700000000000,"op":"enter","id":"a","resource":"r","autoExit":true,"expect":{"decision":"pass"}}`
	refused = `{"atMs":1700000000000,"op":"enter","id":"b","resource":"r","autoExit":true,"expect":{"decision":"block","by":"flow","rule":0}}`
)

func verify(t *testing.T, text string, o replay.Options) replay.Result {
	t.Helper()
	s, err := replay.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return replay.Verify(s, o)
}

func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	replaced := func(old, by string) string { return strings.Replace(scenario(passing), old, by, 1) }
	for name, c := range map[string]struct{ text, want string }{
		"scenario member": {replaced(`"name"`, `"color":1,"name"`), `unknown member "color"`},
		"no object":       {`[]`, "cannot unmarshal"},
		"null":            {`null`, "must be an object"},
		"no name":         {replaced(`"name":"t",`, ``), `"name" is missing`},
		"no steps":        {`{"name":"t","startMs":1}`, `"steps" is missing`},
		"config member":   {replaced(`"rules"`, `"config":{"buckets":2},"rules"`), `config: unknown member "buckets"`},
		"config value":    {replaced(`"rules"`, `"config":{"sampleCount":0},"rules"`), "sampleCount 0 is out of range"},
		"rule kind":       {replaced(`"flow"`, `"flood"`), `unknown kind "flood"`},
		"op":              {replaced(`"enter"`, `"leave"`), `step 0: unknown op "leave"`},
		"step member":     {replaced(`"id"`, `"n":1,"id"`), `step 0: enter: unknown member "n"`},
		"wrong case":      {replaced(`"atMs"`, `"AtMs"`), `"atMs" is missing`},
		"expect member":   {replaced(`"decision"`, `"verdict":1,"decision"`), `expect: unknown member "verdict"`},
		"no expect":       {replaced(`,"expect":{"decision":"pass"}`, ``), `"expect" is missing`},
		"type":            {replaced(`"resource":"r","auto`, `"resource":5,"auto`), `member "resource"`},
		"null member":     {replaced(`"resource":"r","auto`, `"resource":null,"auto`), `member "resource" is null`},
		"time":            {replaced(`"atMs":1700000000000`, `"atMs":-1`), "out of range"},
		"nanoseconds":     {replaced(`"op"`, `"atNs":1000000,"op"`), "out of range"},
		"entry type":      {replaced(`"auto`, `"entryType":"UP","auto`), `unknown entryType "UP"`},
		"argument type":   {replaced(`"auto`, `"args":[{"t":"date","v":1}],"auto`), `argument 0: unknown type "date"`},
		"argument range":  {replaced(`"auto`, `"args":[{"t":"byte","v":300}],"auto`), `argument 0: member "v"`},
		"element":         {replaced(`"auto`, `"args":[{"t":"list","v":[{"t":"char","v":"ab"}]}],"auto`), `element 0: char "ab" is not one character`},
		"breaker state":   {scenario(`{"atMs":1,"op":"expectBreaker","resource":"r","rule":0,"state":"open"}`), `unknown state "open"`},
		"node":            {scenario(`{"atMs":1,"op":"expectStats","resource":"r","node":"origin"}`), `unknown node "origin"`},
		"figure":          {scenario(`{"atMs":1,"op":"expectStats","resource":"r","node":"cluster","qps":1}`), `unknown member "qps"`},
		"error kind":      {scenario(`{"atMs":1,"op":"exit","id":"a","error":"e","errorKind":"odd"}`), `unknown errorKind "odd"`},
		"load kind":       {scenario(`{"atMs":1,"op":"loadRules","kind":"gateway","rules":[]}`), `unknown kind "gateway"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := replay.Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if s == nil || s.Steps() != 0 {
				t.Error("a scenario with steps came with the error")
			}
		})
	}
}

func TestScenarioThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"rule member":    {strings.Replace(scenario(passing), `"count":1`, `"counts":1`, 1), `flow rule 0: unknown member "counts"`},
		"exit":           {scenario(`{"atMs":1,"op":"exit","id":"z"}`), `step 0 (exit z): "z" was never entered`},
		"parent":         {scenario(strings.Replace(passing, `"auto`, `"parent":"z","auto`, 1)), `parent "z" was never entered`},
		"rule number":    {scenario(`{"atMs":1,"op":"expectBreaker","resource":"r","rule":1,"state":"OPEN"}`), "there is no degrade rule 1"},
		"negative count": {scenario(strings.Replace(passing, `"auto`, `"acquire":-1,"auto`, 1)), "negative count"},
		"window":         {strings.Replace(scenario(passing), `"rules"`, `"config":{"sampleCount":3},"rules"`, 1), "cannot be divided"},
		"calls":          {scenario(`{"atMs":1,"op":"burst","n":1001,"resource":"r","expect":{}}`), "too many calls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := verify(t, c.text, replay.Options{MaxCalls: 1000})
			if r.Verdict != replay.Failed || r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("%v, %v; want failed with %q", r.Verdict, r.Err, c.want)
			}
		})
	}
}

// Every kind of expectation must be able to fail.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	const at = `{"atMs":1700000000000,`
	breaker := at + `"op":"loadRules","kind":"degrade","rules":[{"resource":"r","grade":2,"count":0,"timeWindow":1,"minRequestAmount":1}]}`
	failing := strings.Replace(passing, `"expect"`, `"error":"e","expect"`, 1)
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"decision":         {[]string{refused}, `step 0 (enter b of r): decision: recorded "block", got "pass"`},
		"by":               {[]string{passing, strings.Replace(refused, `"flow"`, `"degrade"`, 1)}, `by: recorded "degrade", got "flow"`},
		"rule":             {[]string{passing, strings.Replace(refused, `0}`, `1}`, 1)}, `rule: recorded 1, got 0`},
		"wait":             {[]string{strings.Replace(passing, `"pass"`, `"wait","waitNs":1500000`, 1)}, `waitMs: recorded 1.5, got none`},
		"figure":           {[]string{passing, at + `"op":"expectStats","node":"cluster","resource":"r","passQps":2,"minRt":1}`}, `passQps: recorded 2, got 1`},
		"no node":          {[]string{passing, at + `"op":"expectStats","node":"origin:o","resource":"r","passQps":1}`}, `exists: recorded none, got false`},
		"node":             {[]string{passing, at + `"op":"expectStats","node":"default:sentinel_default_context","resource":"r","exists":false}`}, `exists: recorded false, got true`},
		"state":            {[]string{breaker, at + `"op":"expectBreaker","resource":"r","rule":0,"state":"absent"}`}, `state: recorded "absent", got "CLOSED"`},
		"no event":         {[]string{breaker, failing}, `breakerEvents: recorded none, got [map[from:CLOSED rule:0 to:OPEN value:1]]`},
		"event":            {[]string{strings.Replace(passing, `"pass"`, `"pass","breakerEvents":[{"rule":0,"from":"CLOSED","to":"OPEN","value":1}]`, 1)}, `got none`},
		"order of a burst": {[]string{at + `"op":"burst","n":2,"resource":"r","expect":{"pass":1,"wait":0,"block":1,"seq":"1b1p","by":"flow"}}`}, `seq: recorded "1b1p", got "1p1b"`},
		"load error":       {[]string{at + `"op":"loadRules","kind":"flow","rules":[],"expect":{"error":"x"}}`}, `error: recorded "x", got none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := verify(t, scenario(c.steps...), replay.Options{})
			if r.Err != nil || r.Verdict != replay.Failed {
				t.Fatalf("%v, %v; want failed", r.Verdict, r.Err)
			}
			for _, d := range r.Differences {
				if strings.Contains(d.String(), c.want) {
					return
				}
			}
			t.Errorf("differences %v, want one with %q", r.Differences, c.want)
		})
	}
}

// A call keeps its context's origin and entrance for the calls inside it, and a refusal noted as an error is none.
func TestNestedCallsAndErrors(t *testing.T) {
	t.Parallel()
	const at = `{"atMs":1700000000000,`
	r := verify(t, scenario(
		at+`"op":"enter","id":"a","resource":"outer","context":"c","origin":"o","entryType":"IN","expect":{"decision":"pass"}}`,
		at+`"op":"enter","id":"b","resource":"inner","parent":"a","acquire":2,"expect":{"decision":"pass"}}`,
		at+`"op":"trace","id":"b","error":"refused","errorKind":"block"}`,
		at+`"op":"exit","id":"b","count":3}`,
		at+`"op":"trace","id":"a","error":"e"}`,
		at+`"op":"exit","id":"a","error":"refused","errorKind":"block"}`,
		at+`"op":"expectStats","node":"origin:o","resource":"inner","totalPass":2,"totalSuccess":3,"totalException":0,"curThreadNum":0}`,
		at+`"op":"expectStats","node":"default:c","resource":"outer","totalException":1}`,
		at+`"op":"expectStats","node":"inbound","totalPass":1}`,
		at+`"op":"expectStats","node":"entrance:c","totalPass":1}`,
	), replay.Options{})
	if r.Verdict != replay.Passed {
		t.Errorf("%v %v %v", r.Verdict, r.Err, r.Differences)
	}
}
