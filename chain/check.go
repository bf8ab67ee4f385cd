package chain

import "time"

// Check decides about calls of one resource, for one rule or several. It is called by many goroutines at once.
type Check interface {
	// Check returns nil to let the call pass and an error, prepared beforehand, to refuse it.
	// It must not block; a call that has to wait says so with Context.Wait.
	Check(c *Context) *BlockError
}

// Refuser is a check that can tell whether it refuses a plain call: one of one unit, not prioritized, without origin
// and context.
type Refuser interface {
	Check
	// Plain says whether Refuses decides about plain calls as Check does. It does not change.
	Plain() bool
	// Refuses returns the error if Check would refuse a plain call at that time. It reserves nothing.
	Refuses(now int64) *BlockError
}

// Ender is a check that is told if no other is asked after it, so that it need not remember what nobody can ask back.
type Ender interface {
	Check
	// ComesLast is called at most once, before any call. A call may still be refused when reservations are committed,
	// and give up waiting.
	ComesLast()
}

// Completer is told how calls of its resource ended. It is asked of the checks in force at exit.
type Completer interface {
	// Complete is told of every admitted call that ended, probe or not.
	Complete(c *Context, d Done)
}

// Outcome is how the business sees the end of a call.
type Outcome uint8

// The outcomes.
const (
	Success Outcome = iota
	Failure
	Ignore // says nothing about the resource's health, such as a caller's cancellation
)

// Done tells how a call ended.
type Done struct {
	Now     int64         // engine time, ns
	RT      time.Duration // from entry to exit, waits included
	Outcome Outcome
}
