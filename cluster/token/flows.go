package token

import (
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// A FlowRequest is one of several flow requests that are decided together, and its answer.
type FlowRequest struct {
	ID          int64
	Count       int32
	Ref         int32 // of the caller, who gets it back
	Prioritized bool

	Status    chain.TokenStatus // the answer, as in a chain.TokenResult
	Remaining int32
	Wait      time.Duration

	rule *hotFlow
}

func (r *FlowRequest) answer(res chain.TokenResult) {
	r.Status, r.Remaining, r.Wait = res.Status, res.Remaining, res.Wait
}

// Flows is Flow for each of the requests, in their order and with the same answers, for less: what the decisions read
// of many rules is fetched from memory at the same time, and requests for one rule that follow each other are one write.
func (s *Service) Flows(now int64, ns string, requests []FlowRequest) {
	if s.none() {
		for i := range requests {
			requests[i].answer(answer(chain.TokenFail))
		}
		return
	}
	now = max(0, now)
	s.fetch(now, ns, requests)
	admit(now, requests)
	for len(requests) > 0 {
		requests = requests[s.decideRun(now, ns, requests):]
	}
}

// fetch finds the rules and looks at their windows, in two steps. No read of a step depends on
// another one, so that all of them are under way at once. Decisions could not do that: their atomic writes keep the
// processor from reading ahead.
func (s *Service) fetch(now int64, ns string, requests []FlowRequest) {
	flows := &s.table.Load().flows
	for i := range requests {
		r := &requests[i]
		if r.rule = nil; r.Count > 0 && r.ID > 0 {
			r.rule, _ = flows.find(ns, r.ID)
		}
	}
	var before *hotFlow
	for i := range requests {
		if h := requests[i].rule; h != nil && h != before {
			before = h
			if h.terms.Load() != uint64(special) {
				h.Touch(now)
			}
		}
	}
}

// admit counts the requests against the limits of their namespaces, those of one namespace that follow each other at
// once. From where there is no room for all of these on, it leaves the requests to Flow.
func admit(now int64, requests []FlowRequest) {
	for i := 0; i < len(requests); {
		h := requests[i].rule
		start := i
		for i++; h != nil && i < len(requests) && requests[i].rule != nil && requests[i].rule.space == h.space; i++ {
		}
		if h != nil && !h.space.admit(now, int64(i-start)) {
			for k := start; k < len(requests); k++ {
				requests[k].rule = nil
			}
			return
		}
	}
}

// decideRun answers the first request and those for the same rule that follow it, and returns how many these are.
func (s *Service) decideRun(now int64, ns string, requests []FlowRequest) (n int) {
	first := &requests[0]
	h := first.rule
	if h == nil {
		first.answer(s.Flow(now, ns, first.ID, first.Count, first.Prioritized))
		return 1
	}
	units := int64(0)
	for n < len(requests) && requests[n].rule == h {
		units += int64(requests[n].Count)
		n++
	}
	if h.grant(now, units, requests[:n]) {
		return n
	}
	for i := range n {
		r := &requests[i]
		r.answer(s.decide(h, now, ns, r.ID, r.Count, r.Prioritized))
	}
	return n
}

// grant grants the requests if there is room for all of them; else it has no effect.
func (h *hotFlow) grant(now, units int64, requests []FlowRequest) bool {
	t := terms(h.terms.Load())
	if t == special {
		return false
	}
	most := t.most(h.space)
	total, ok := h.Take(now, units, most)
	if !ok {
		return false
	}
	if more := units - int64(len(requests)); more > 0 {
		h.cold.Load().extra.Add(more)
	}
	left := most - total + units
	for i := range requests {
		r := &requests[i]
		left -= int64(r.Count)
		r.Status, r.Remaining, r.Wait = chain.TokenOK, clamp32(left), 0
	}
	return true
}
