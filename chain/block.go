package chain

import (
	"errors"
	"time"
)

// The errors that a refusal is, by kind of rule. Every refusal is ErrBlocked too.
var (
	ErrBlocked     = errors.New("blocked by a rule")
	ErrFlow        = errors.New("flow limit reached")
	ErrCircuitOpen = errors.New("circuit breaker open")
	ErrIsolation   = errors.New("concurrency limit reached")
	ErrParam       = errors.New("hot parameter limit reached")
	ErrSystem      = errors.New("system limit reached")
	ErrAuthority   = errors.New("caller not authorized")
	ErrGateway     = errors.New("gateway limit reached")
	ErrCustom      = errors.New("refused by a custom check")
)

// A BlockError says which rule refused a call. Errors of rules are prepared when the rule is loaded and shared
// by all refusals: do not change one.
type BlockError struct {
	Kind     Kind
	Resource string
	Rule     any    // the rule as loaded, of its kind's Rule type; nil if there is none
	Cause    error  // ErrFlow, ErrCircuitOpen, ..., or what a custom check or a cancelled wait returned
	Type     string // system rules: the limit reached, one of qps, thread, rt, load, cpu
	explain  Explainer
}

// Explainer tells the state of a rule.
type Explainer interface{ Explain() Explanation }

// Explanation tells why a rule refuses, a moment after it did.
type Explanation struct {
	Measured   float64       // what the rule counts, in the limit's unit
	Limit      float64       // the most it allows
	Unit       string        // of both, such as "calls", "calls in flight", "ms", "ratio"
	Window     time.Duration // over which it counts; 0: at a moment
	RetryAfter time.Duration // when a call may pass; 0: not known
	ByServer   bool          // the token server refused, so Measured and RetryAfter are not known here
}

// NewBlockError prepares the error of a rule. explain may be nil.
func NewBlockError(kind Kind, resource string, rule any, cause error, explain Explainer) *BlockError {
	return &BlockError{Kind: kind, Resource: resource, Rule: rule, Cause: cause, explain: explain}
}

// Error names the cause and the resource.
func (e *BlockError) Error() string {
	if e == nil {
		return ErrBlocked.Error()
	}
	text := ErrBlocked.Error()
	if e.Cause != nil {
		text = e.Cause.Error()
	}
	if e.Type != "" {
		text += " (" + e.Type + ")"
	}
	return text + ": " + e.Resource
}

// Is makes errors.Is(err, ErrBlocked) true, without allocating; the cause is found by Unwrap.
func (e *BlockError) Is(target error) bool {
	return target == ErrBlocked || e != nil && (target == ErrCustom && e.Kind == KindCustom || e.Kind != KindCustom && target == e.Cause)
}

// Unwrap returns the cause.
func (e *BlockError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Explain reads what the rule measured, its limit, window and when to retry from the rule's present state.
// It returns the zero Explanation where the rule cannot tell.
func (e *BlockError) Explain() Explanation {
	if e == nil || e.explain == nil {
		return Explanation{}
	}
	return e.explain.Explain()
}

// WithCause returns a copy of the error with another cause, such as a context's error.
func (e *BlockError) WithCause(cause error) *BlockError {
	if e == nil {
		return &BlockError{Cause: cause}
	}
	changed := *e
	changed.Cause = cause
	return &changed
}
