package chain

import "time"

// Check decides about calls of one resource, for one rule or several. It is called by many goroutines at once.
type Check interface {
	// Check returns nil to let the call pass and an error, prepared beforehand, to refuse it.
	// It must not block; a call that has to wait says so with Context.Wait.
	Check(c *Context) *BlockError
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
