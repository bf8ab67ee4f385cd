package token

import (
	"math/rand/v2"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
)

// Tokens are divided into shards by rule; the low bits of a token's id name its shard, so that a release, which
// brings the id alone, finds it.
const (
	tokenBits   = 4
	tokenShards = 1 << tokenBits
)

// tokens are the concurrency tokens that are out. All of a rule's are in one shard, whose lock makes check and add
// one step.
type tokens struct {
	most   int // of a shard
	shards [tokenShards]tokenShard
}

type tokenShard struct {
	mu      sync.Mutex
	byID    map[int64]*tokenOut    // guarded by mu, as all below
	owners  map[string]*tokenOwner // members who held tokens since the last sweep
	spare   *tokenOut              // records to use again, by newer
	expired uint64
	_       [64]byte
}

// A tokenOut is one token.
type tokenOut struct {
	id, n, since int64
	rule         *holders
	owner        *tokenOwner
	newer, older *tokenOut // of the rule
}

// A tokenOwner is a member who holds, or lately held, tokens of a shard.
type tokenOwner struct {
	name  string
	held  int   // tokens
	seen  int64 // ns of the latest sign of life
	local bool  // part of this process: never offline
}

// holders is how many places of a rule are taken, and by which tokens, in the order in which they were given. Guarded
// by the shard's mu.
type holders struct {
	taken          int64
	gone           bool // the rule was removed
	newest, oldest *tokenOut
	hold, offline  int64 // ns after which a token is taken back: always, and if its member is gone
}

func newTokens(most int64) *tokens {
	t := &tokens{most: int(max(1, most/tokenShards))}
	for i := range t.shards {
		t.shards[i].byID = map[int64]*tokenOut{}
		t.shards[i].owners = map[string]*tokenOwner{}
	}
	return t
}

// shardOf returns the shard of a rule's tokens, and its number.
func (t *tokens) shardOf(flowID int64) (*tokenShard, int64) {
	n := int64(uint64(flowID) * 0x9E3779B97F4A7C15 >> (64 - tokenBits))
	return &t.shards[n], n
}

// A claim is what take is asked for.
type claim struct {
	flowID, n, most int64
	member          string
	local           bool // the member is part of this process
	observe         bool // grant what is above most, too
}

// take gives a token. spared says that the rule only observes and would have refused.
func (t *tokens) take(now int64, h *holders, c *claim) (r chain.TokenResult, spared bool) {
	s, number := t.shardOf(c.flowID)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case h.gone:
		return answer(chain.TokenNoRule), false
	case h.taken > c.most-c.n:
		if spared = c.observe; !spared {
			return answer(chain.TokenBlocked), false
		}
	}
	if len(s.byID) >= t.most {
		return answer(chain.TokenTooManyRequest), false
	}
	out := s.record()
	*out = tokenOut{id: s.freeID(number), n: c.n, since: now, rule: h, owner: s.owner(c.member, now)}
	out.owner.local = c.local
	out.owner.held++
	s.byID[out.id] = out
	h.push(out)
	h.taken += c.n
	return chain.TokenResult{Remaining: clamp32(max(0, c.most-h.taken)), TokenID: out.id}, spared
}

// freeID returns a random positive id of the shard that no token has. The caller holds mu, as of all below.
func (s *tokenShard) freeID(number int64) int64 {
	for {
		id := rand.Int64()&^(tokenShards-1) | number
		if id > 0 && s.byID[id] == nil {
			return id
		}
	}
}

func (s *tokenShard) record() *tokenOut {
	if out := s.spare; out != nil {
		s.spare = out.newer
		return out
	}
	return &tokenOut{}
}

func (s *tokenShard) owner(member string, now int64) *tokenOwner {
	o := s.owners[member]
	if o == nil {
		o = &tokenOwner{name: member}
		s.owners[member] = o
	}
	o.seen = max(o.seen, now)
	return o
}

// end takes a token back.
func (s *tokenShard) end(out *tokenOut) {
	delete(s.byID, out.id)
	out.rule.unlink(out)
	out.rule.taken -= out.n
	out.owner.held--
	*out = tokenOut{newer: s.spare}
	s.spare = out
}

func (h *holders) push(out *tokenOut) {
	if out.older = h.newest; h.newest != nil {
		h.newest.newer = out
	} else {
		h.oldest = out
	}
	h.newest = out
}

func (h *holders) unlink(out *tokenOut) {
	if out.older != nil {
		out.older.newer = out.newer
	} else {
		h.oldest = out.newer
	}
	if out.newer != nil {
		out.newer.older = out.older
	} else {
		h.newest = out.older
	}
}

// release takes a token back that its holder returns.
func (t *tokens) release(id int64) chain.TokenStatus {
	if id <= 0 {
		return chain.TokenBadRequest
	}
	s := &t.shards[id&(tokenShards-1)]
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.byID[id]
	if out == nil {
		return chain.TokenAlreadyReleased
	}
	s.end(out)
	return chain.TokenReleased
}

// seen notes a sign of life of a member who holds tokens.
func (t *tokens) seen(member string, now int64) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		if o := s.owners[member]; o != nil {
			o.seen = max(o.seen, now)
		}
		s.mu.Unlock()
	}
}

// setTerms sets after how many ns tokens of a rule are taken back.
func (t *tokens) setTerms(flowID int64, h *holders, hold, offline int64) {
	s, _ := t.shardOf(flowID)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.hold, h.offline = hold, offline
}

// drop takes all tokens of a removed rule back.
func (t *tokens) drop(flowID int64, h *holders) {
	s, _ := t.shardOf(flowID)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.gone = true
	for h.oldest != nil {
		s.end(h.oldest)
	}
}

// overdue takes back the tokens of a rule that were held for too long. They are the oldest ones: it looks at no more
// than one that is not.
func (t *tokens) overdue(now, flowID int64, h *holders) {
	s, _ := t.shardOf(flowID)
	s.mu.Lock()
	defer s.mu.Unlock()
	for h.oldest != nil && now-h.oldest.since > h.hold {
		s.end(h.oldest)
		s.expired++
	}
}

// abandoned takes back the tokens of members who are gone and were not heard of for too long.
func (s *tokenShard) abandoned(now int64, joined func(member string) bool) {
	gone := s.absent(joined)
	if len(gone) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, out := range s.byID {
		if gone[out.owner.name] && now-out.owner.seen > out.rule.offline {
			s.end(out)
			s.expired++
		}
	}
}

// absent returns the members with tokens who are not joined, and forgets those without.
func (s *tokenShard) absent(joined func(member string) bool) map[string]bool {
	s.mu.Lock()
	names := make([]string, 0, len(s.owners))
	for name, o := range s.owners {
		if o.held == 0 {
			delete(s.owners, name)
		} else if !o.local {
			names = append(names, name)
		}
	}
	s.mu.Unlock()
	gone := map[string]bool{}
	for _, name := range names {
		if !joined(name) {
			gone[name] = true
		}
	}
	return gone
}

// tally returns how many tokens are out and how many were taken back.
func (t *tokens) tally() (out int, expired uint64) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		out, expired = out+len(s.byID), expired+s.expired
		s.mu.Unlock()
	}
	return out, expired
}

// places returns how many places of a rule are taken.
func (t *tokens) places(flowID int64, h *holders) int64 {
	s, _ := t.shardOf(flowID)
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.taken
}
