package isolation_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/internal/ruletest"
	"github.com/tidegate-go/tidegate/isolation"
)

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, isolation.Parse, []ruletest.Case{
		{JSON: `{"resource":"r","count":10}`},
		{JSON: `{"resource":"r"}`},
		{JSON: `{"resource":"a.*","regex":true,"count":10,"enabled":false,"mode":"observe","id":3,"tags":["x"]}`},
		{JSON: `{"resource":"r","threshold":1}`, Warning: `unknown member "threshold"`},
		{JSON: `{"count":1}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":"[","regex":true}`, Member: "resource", Reason: "regular expression"},
		{JSON: `{"resource":"r","count":-1}`, Member: "count", Reason: "negative"},
		{JSON: `{"resource":"r","count":1.5}`, Member: "count", Reason: "whole"},
		{JSON: `{"resource":"r","count":1e40}`, Member: "count", Reason: "out of range"},
		{JSON: `{"resource":"r","count":true}`, Member: "count", Reason: "a boolean"},
	})
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, isolation.Parse, `{"resource":"r","count":1}`, `{"resource":"r","count":1,"id":3,"limitApp":"default","mode":"off"}`)
	ruletest.Differ(t, isolation.Parse, `{"resource":"r"}`, `{"resource":"r","count":1}`, `{"resource":"s"}`, `{"resource":"r","regex":true}`)
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, isolation.Parse, `{"resource":"r","count":10}`)
}
