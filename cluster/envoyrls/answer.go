package envoyrls

import (
	"math"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// inPlace is how many descriptors an answer has room for in one allocation.
const inPlace = 4

// answer is a response with its parts in one piece of memory.
type answer struct {
	response rls.RateLimitResponse
	pointers [inPlace]*rls.RateLimitResponse_DescriptorStatus
	parts    [inPlace]answerPart
}

type answerPart struct {
	status rls.RateLimitResponse_DescriptorStatus
	reset  durationpb.Duration
}

// answer makes the response to a decision.
func (d *decision) answer() *rls.RateLimitResponse {
	a := &answer{}
	parts, pointers := a.parts[:], a.pointers[:0]
	if n := len(d.items); n > inPlace {
		parts, pointers = make([]answerPart, n), make([]*rls.RateLimitResponse_DescriptorStatus, 0, n)
	}
	a.response.OverallCode = rls.RateLimitResponse_OK
	if d.refused {
		a.response.OverallCode = rls.RateLimitResponse_OVER_LIMIT
	}
	for i := range d.items {
		d.items[i].fill(&parts[i])
		pointers = append(pointers, &parts[i].status)
	}
	a.response.Statuses = pointers
	return &a.response
}

// fill writes the status of one descriptor. Without a rule it is just OK; with an unlimited one, OK with all remaining.
func (it *item) fill(p *answerPart) {
	p.status.Code = rls.RateLimitResponse_OK
	if it.rule == nil {
		return
	}
	if it.rule.unlimited {
		p.status.LimitRemaining = math.MaxUint32
		return
	}
	if it.over && !it.rule.shadow {
		p.status.Code = rls.RateLimitResponse_OVER_LIMIT
	}
	p.status.CurrentLimit = it.current
	if !it.over {
		p.status.LimitRemaining = uint32(min(it.left, math.MaxUint32))
	}
	p.reset.Seconds = wholeSeconds(it.reset)
	p.status.DurationUntilReset = &p.reset
}
