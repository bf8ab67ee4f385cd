package token

import (
	"math"

	"github.com/tidegate-go/tidegate/chain"
)

// Acquire gives a member n of the places that a flow rule allows at once: its count, or count x connected members,
// rounded down. exceedCount and the namespace's limit of requests do not apply. ns is as for Flow. With TokenOK the
// result has the token's id, to be given to Release. The token is taken back by Sweep when it was held for longer than
// the rule's resourceTimeout; or when its member has joined no namespace and was not heard of, by Join, Acquire,
// Renew or Leave, for longer than clientOfflineTime; and at once when its rule is removed.
//
// Any loaded flow rule can be asked, whatever its grade.
func (s *Service) Acquire(now int64, who, ns string, id int64, n int32) chain.TokenResult {
	return s.acquire(now, claim{member: who, flowID: id, n: int64(n)}, ns)
}

func (s *Service) acquire(now int64, c claim, ns string) chain.TokenResult {
	if s.none() {
		return answer(chain.TokenFail)
	}
	if c.member == "" || c.flowID <= 0 || c.n <= 0 {
		s.odd.bad.Add(1)
		return answer(chain.TokenBadRequest)
	}
	hot, conflict := s.table.Load().flows.find(ns, c.flowID)
	if hot == nil {
		return s.unknown(conflict)
	}
	f := hot.cold.Load()
	c.most, c.observe = f.places(), f.observe
	r, spared := s.tokens.take(now, &f.holders, &c)
	switch {
	case spared:
		f.spared.Add(1)
	case r.Status == chain.TokenOK:
		f.acquired.Add(1)
	case r.Status == chain.TokenBlocked:
		f.blocked.Add(1)
	case r.Status == chain.TokenTooManyRequest:
		f.limited.Add(1)
	}
	return r
}

// places returns how many tokens of a rule may be out.
func (f *flowRule) places() int64 {
	if f.global {
		return units(math.Floor(f.rule.Count))
	}
	return units(math.Floor(f.rule.Count * float64(f.space.connected.Load())))
}

// Release takes a concurrency token back: TokenReleased, or TokenAlreadyReleased if there is none of that id, because
// it was released before or taken back. Ids cannot be guessed: who knows one may release it.
func (s *Service) Release(who string, tokenID int64) chain.TokenStatus {
	if s.none() {
		return chain.TokenFail
	}
	return s.tokens.release(tokenID)
}

// Renew notes that a member is alive, so that its tokens are not taken back for its silence.
func (s *Service) Renew(now int64, who string) {
	if !s.none() {
		s.tokens.seen(who, now)
	}
}

// Sweep takes back the concurrency tokens that are overdue, and gives back the memory of parameter rules whose values
// have all been idle for a window. Call it every second or so; it does not hold up decisions.
func (s *Service) Sweep(now int64) {
	if s.none() {
		return
	}
	flows, params := s.rules()
	for _, f := range flows {
		s.tokens.overdue(now, f.rule.ClusterConfig.FlowID, &f.holders)
	}
	for i := range s.tokens.shards {
		s.tokens.shards[i].abandoned(now, s.joined)
	}
	for _, p := range params {
		if p.values != nil {
			p.values.sweep(now)
		}
	}
}

// rules returns all rules in force, namespaces in order of name.
func (s *Service) rules() (flows []*flowRule, params []*paramRule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range s.byName() {
		flows = append(flows, sp.flows...)
		params = append(params, sp.params...)
	}
	return flows, params
}

// free takes back the tokens of the rules that are not kept. The caller holds mu.
func (s *Service) free(rules []*flowRule, kept map[int64]*flowRule) {
	for _, f := range rules {
		if id := f.rule.ClusterConfig.FlowID; kept[id] == nil {
			s.tokens.drop(id, &f.holders)
		}
	}
}
