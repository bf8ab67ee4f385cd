package chain

import "time"

// Check decides about calls of one resource, for one rule or several. It is called by many goroutines at once.
type Check interface {
	// Check returns nil to let the call pass and an error, prepared beforehand, to refuse it.
	// It must not block; a call that has to wait says so with Context.Wait.
	Check(c *Context) *BlockError
}

// Holder is who made a reservation and can confirm, undo or release it.
type Holder interface {
	// Commit confirms a reservation after every check has passed, before any wait. It returns an error to
	// refuse the call after all. It is called for holds made with NeedCommit.
	Commit(c *Context, h *Hold) *BlockError
	// Undo gives the reservation back: the call was refused or its caller gave up waiting.
	Undo(c *Context, h *Hold)
	// Release ends a reservation at the exit of the call. It is called for holds made with NeedRelease.
	Release(c *Context, h *Hold, d Done)
}

// Completer is told how calls of its resource ended. It is asked of the checks in force at exit.
type Completer interface {
	// Complete is told of every admitted call that ended, probe or not.
	Complete(c *Context, d Done)
}

// Need says which steps a hold takes part in.
type Need uint8

// What a hold needs.
const (
	NeedCommit Need = 1 << iota
	NeedRelease
)

// Hold is one reservation of a call. What A, B and Ref mean is its holder's affair.
type Hold struct {
	By       Holder
	Ref      any
	A, B     int64
	Needs    Need
	observed bool // made by a rule in observe mode
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
