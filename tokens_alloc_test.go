//go:build !race

package tidegate_test

import (
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// clusterPaths are ways through rules in cluster mode, with a service that always gives the same answer.
func clusterPaths() map[string]kindPath {
	args := tidegate.Call{Args: []tidegate.Arg{tidegate.String("user", "a"), tidegate.Int("n", 7)}}
	list := argCall([]string{"a", "b", "c"})
	flow := func(s chain.TokenStatus, more string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) {
			t.Helper()
			g.SetTokenService(&steadyTokens{result: tidegate.TokenResult{Status: s, TokenID: 1}})
			load(t, g.FlowRules(), clusterFlow(1, more, ""))
		}
	}
	param := func(s chain.TokenStatus, more string) func(*testing.T, guard) {
		return func(t *testing.T, g guard) {
			t.Helper()
			g.SetTokenService(&steadyTokens{result: tidegate.TokenResult{Status: s}})
			load(t, g.ParamRules(), clusterParam(1, more, ""))
		}
	}
	return map[string]kindPath{
		"flow, ok":                {rules: flow(chain.TokenOK, `,"count":1`)},
		"flow, blocked":           {rules: flow(chain.TokenBlocked, `,"count":1`), blocked: true},
		"flow, wait":              {rules: flow(chain.TokenShouldWait, `,"count":1`)},
		"flow, fallback":          {rules: flow(chain.TokenFail, `,"count":1e12`)},
		"flow, fallback blocked":  {rules: flow(chain.TokenFail, `,"count":1`), prepare: func(g guard) { g.call("r", nil) }, blocked: true},
		"flow, cold fallback":     {rules: flow(chain.TokenFail, `,"count":1e12,"controlBehavior":1`)},
		"flow, calls":             {rules: flow(chain.TokenOK, `,"count":1,"grade":0`)},
		"flow, calls blocked":     {rules: flow(chain.TokenBlocked, `,"count":1,"grade":0`), blocked: true},
		"flow, calls fallback":    {rules: flow(chain.TokenNotAvailable, `,"count":1,"grade":0`)},
		"param, ok":               {rules: param(chain.TokenOK, `,"count":1`), call: args},
		"param, blocked":          {rules: param(chain.TokenBlocked, `,"count":1`), call: args, blocked: true},
		"param, list":             {rules: param(chain.TokenOK, `,"count":1`), call: list},
		"param, fallback":         {rules: param(chain.TokenFail, `,"count":1e12`), call: args},
		"param, fallback blocked": {rules: param(chain.TokenFail, `,"count":0`), call: args, blocked: true},
	}
}

func TestClusterAllocs(t *testing.T) { // not parallel: AllocsPerRun
	for name, c := range clusterPaths() {
		t.Run(name, func(t *testing.T) { testKindPath(t, c) })
	}
}
