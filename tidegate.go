// Package tidegate keeps services alive: it limits flow, isolates concurrency and breaks circuits, by rules that
// may change while the service runs.
//
// A guarded call enters a resource and exits it:
//
//	entry, err := tidegate.Enter(ctx, "pay", tidegate.Call{Inbound: true})
//	if err != nil {
//		return err // a *BlockError: errors.Is(err, tidegate.ErrBlocked)
//	}
//	err = pay(ctx)
//	entry.Exit(err)
//
// or, in one line that also releases on panic:
//
//	receipt, err := tidegate.Do(ctx, "pay", pay)
//
// Rules are loaded by code, by documents (package document) and by data sources (package datasource). Rules,
// documents and figures are compatible with Alibaba Sentinel; docs/compatibility.md lists where this project
// decides otherwise.
//
// The functions of the package use one default engine; New makes engines that share nothing with it.
package tidegate

import (
	"errors"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/stat"
)

// Types of package chain under the names that users write.
type (
	// Call describes one guarded call; the zero value is an outbound call of one unit.
	Call = chain.Call
	// Arg is one argument of a call, for rules about hot parameters.
	Arg = chain.Arg
	// BlockError says which rule refused a call; find it with errors.As.
	BlockError = chain.BlockError
	// Request is what gateway rules look at.
	Request = chain.Request
	// Explanation tells what a rule measured, its limit and when to retry.
	Explanation = chain.Explanation
	// Clock is a source of time for replays and tests.
	Clock = chain.Clock
	// Outcome is how the business sees the end of a call.
	Outcome = chain.Outcome
	// Report tells what became of every rule of one load.
	Report = chain.Report
	// Kind names a kind of rule.
	Kind = chain.Kind
	// Snapshot holds the figures of a resource, or one of its nodes, at one moment.
	Snapshot = stat.Snapshot
	// BreakerEvent is one change of a circuit breaker's state.
	BreakerEvent = circuitbreaker.Event
	// BreakerStatus is what a circuit breaker looks like at one moment.
	BreakerStatus = circuitbreaker.Status
)

// The outcomes of a call.
const (
	Success = chain.Success
	Failure = chain.Failure
	Ignore  = chain.Ignore
)

// The errors that a refusal is, by kind of rule. Every refusal is ErrBlocked too.
var (
	ErrBlocked     = chain.ErrBlocked
	ErrFlow        = chain.ErrFlow
	ErrCircuitOpen = chain.ErrCircuitOpen
	ErrIsolation   = chain.ErrIsolation
	ErrParam       = chain.ErrParam
	ErrSystem      = chain.ErrSystem
	ErrAuthority   = chain.ErrAuthority
	ErrGateway     = chain.ErrGateway
	ErrCustom      = chain.ErrCustom
)

// Errors of calls that are wrong in themselves.
var (
	ErrNoResource    = errors.New("a guarded call needs a resource name that is not empty")
	ErrNegativeCount = errors.New("a guarded call cannot acquire a negative count")
)

// errPanicked is the outcome of a guarded function that did not return.
var errPanicked = errors.New("the guarded function panicked")

// String makes a string argument. An empty name is allowed: rules then find it by position.
func String(name, value string) Arg { return chain.String(name, value) }

// Int makes an integer argument.
func Int(name string, value int) Arg { return chain.Int(name, value) }

// Int64 makes an integer argument.
func Int64(name string, value int64) Arg { return chain.Int64(name, value) }

// Float64 makes a floating point argument.
func Float64(name string, value float64) Arg { return chain.Float64(name, value) }

// Bool makes a boolean argument.
func Bool(name string, value bool) Arg { return chain.Bool(name, value) }

// RequestArg makes an argument of a request, for gateway rules. It has no position among a call's arguments.
func RequestArg(r Request) Arg { return chain.RequestArg(r) }

// Any makes an argument of any value.
func Any(name string, value any) Arg { return chain.Any(name, value) }
