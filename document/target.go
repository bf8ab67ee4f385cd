package document

import (
	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// rules is one kind's rule set of an engine.
type rules[R any] interface {
	LoadFrom(source string, items []tidegate.Item[R]) chain.Report
}

// switches is what documents can switch on an engine.
type switches interface {
	SetEnabled(on bool)
	SetObserve(on bool)
	SetKindEnabled(kind chain.Kind, on bool)
}

// target is what documents are put into force on.
type target struct {
	switches

	api       rules[gateway.API]
	gateway   rules[gateway.Rule]
	param     rules[hotspot.Rule]
	flow      rules[flow.Rule]
	isolation rules[isolation.Rule]
	degrade   rules[circuitbreaker.Rule]
	authority rules[authority.Rule]
	system    rules[system.Rule]
}

func targetOf(e *tidegate.Engine) target {
	return target{
		switches:  e,
		api:       e.APIDefinitions(),
		gateway:   e.GatewayRules(),
		param:     e.ParamRules(),
		flow:      e.FlowRules(),
		isolation: e.IsolationRules(),
		degrade:   e.DegradeRules(),
		authority: e.AuthorityRules(),
		system:    e.SystemRules(),
	}
}
