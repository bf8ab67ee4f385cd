package tidegate

import (
	"context"

	"github.com/tidegate-go/tidegate/chain"
)

// Types of package chain that have to do with the token service.
type (
	// TokenService decides rules in cluster mode: a token client, or a token server in the same process.
	TokenService = chain.TokenService
	// TokenResult is what a token service says about one request.
	TokenResult = chain.TokenResult
	// TokenStatus is the answer of a token server.
	TokenStatus = chain.TokenStatus
	// TokenCounters count what became of requests for tokens.
	TokenCounters = chain.TokenCounters
	// FallbackReason says why a rule in cluster mode was decided by its fallback.
	FallbackReason = chain.FallbackReason
)

// WithTokenService sets who decides flow and parameter rules in cluster mode. The default, and nil, is nobody: the
// rules' fallback decides.
func WithTokenService(s TokenService) Option {
	return func(c *config) error { c.tokens = s; return nil }
}

// SetTokenService changes who decides rules in cluster mode, nil for nobody. Calls that are being decided end as they
// began.
func (e *Engine) SetTokenService(s TokenService) {
	if e.made() {
		e.tokens.Set(s)
	}
}

// TokenCounters returns what became of the requests for tokens, and how often fallbacks decided and why.
func (e *Engine) TokenCounters() TokenCounters {
	if !e.made() {
		return (*chain.Tokens)(nil).Counters()
	}
	return e.tokens.Counters()
}

func (e *Engine) makeTokens() {
	e.tokens.Failed = e.failed
	e.tokens.Set(e.config.tokens)
}

// ask runs the checks that are asked last. What they are granted cannot be given back, so everything else has passed.
func (e *Engine) ask(ctx context.Context, c *chain.Context, last []chain.Check) *BlockError {
	c.StartAsking(ctx)
	defer c.StopAsking()
	for _, check := range last {
		if err := check.Check(c); err != nil {
			return err
		}
	}
	if c.Waiting() > 0 { // waits count from the entry
		c.SetWaiting(max(1, c.Waiting()-max(0, e.clock.now()-c.Now)))
	}
	return nil
}

// lastOf takes the checks that are asked last out of a plan's. Those that only observe come after those that may refuse.
func lastOf(bounds []chain.Bound) (first, last []chain.Bound) {
	for _, observed := range []bool{false, true} {
		for _, b := range bounds {
			if b.Last && b.Observed == observed {
				last = append(last, b)
			}
		}
	}
	for _, b := range bounds {
		if !b.Last {
			first = append(first, b)
		}
	}
	return first, last
}
