package tidegate_test

import (
	"testing"

	"github.com/tidegate-go/tidegate"
)

func TestEdgeParamEvict(t *testing.T) {
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r.*","regex":true,"paramIdx":0,"count":5,"durationInSec":3600}`)
	a := tidegate.Call{Args: []tidegate.Arg{tidegate.Int("", 1)}}
	n := g.count(20, "r1", a)
	g.at(660_000).Maintain()
	n += g.count(20, "r1", a)
	if n > 5 {
		t.Errorf("%d pass in 11 min, limit 5 an hour", n)
	}
}

func TestEdgeMixedConcurrent(t *testing.T) {
	least := 1000
	for range 300 {
		g := newGuard(t)
		load(t, g.FlowRules(), `{"resource":"r","count":100}`, `{"resource":"r","count":60,"controlBehavior":1,"warmUpPeriodSec":10}`)
		least = min(least, len(g.together(100, "r")))
	}
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":100}`, `{"resource":"r","count":60,"controlBehavior":1,"warmUpPeriodSec":10}`)
	if s := g.count(100, "r"); least < s {
		t.Errorf("sequential %d, concurrent as few as %d", s, least)
	}
}
