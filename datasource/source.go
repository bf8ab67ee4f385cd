package datasource

import (
	"context"
	"errors"
	"time"
)

// Errors of sources, for errors.Is.
var (
	// ErrStarted says that Start was called a second time.
	ErrStarted = errors.New("source is already started; make a new one to watch again")
	// ErrClosed says that the source was closed before.
	ErrClosed = errors.New("source is closed; make a new one to watch again")
	// ErrAbsent says that there was no document at the first read.
	ErrAbsent = errors.New("no document there yet")
	// ErrEmpty says that the document is empty or only white space. It changes nothing: "[]" means no rules.
	ErrEmpty = errors.New("document is empty; write [] for no rules")
	// ErrTooLarge says that the document is larger than the source's limit.
	ErrTooLarge = errors.New("document is too large")
)

// A Handler puts documents into force. A source calls it from one goroutine at a time, never after its Close returned.
// It must not call the source's Close, which waits for it.
type Handler interface {
	// Update puts content into force. An error refuses it: the handler then leaves everything as it was. A
	// *PartialError reports faults of content that is in force all the same. The slice belongs to the handler.
	Update(ctx context.Context, content []byte) error
	// Deleted takes back what the source's content put into force. It is called under ClearOnDelete only. After
	// an error it is called again while the document stays away.
	Deleted(ctx context.Context) error
}

// A RuleCounter is a Handler that knows how many rules of the content in force were accepted and how many refused. A
// source asks it after every Update and Deleted and shows the figures in its State.
type RuleCounter interface {
	RuleCounts() (accepted, refused int)
}

// HandlerFuncs makes a Handler of two functions; a nil one accepts everything.
type HandlerFuncs struct {
	OnUpdate  func(ctx context.Context, content []byte) error
	OnDeleted func(ctx context.Context) error
}

// Update calls OnUpdate.
func (h HandlerFuncs) Update(ctx context.Context, content []byte) error {
	if h.OnUpdate == nil {
		return nil
	}
	return h.OnUpdate(ctx, content)
}

// Deleted calls OnDeleted.
func (h HandlerFuncs) Deleted(ctx context.Context) error {
	if h.OnDeleted == nil {
		return nil
	}
	return h.OnDeleted(ctx)
}

// A PartialError is returned by Handler.Update for content that is in force except for the parts that Err names. The
// source shows it as its state's last error and does not offer the same content again.
type PartialError struct {
	Err error
}

// Error returns the text of Err.
func (e *PartialError) Error() string {
	if e == nil || e.Err == nil {
		return "content is in force in part"
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *PartialError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// A Source watches one document and hands it to a handler. Its methods may be called from any goroutine.
type Source interface {
	// Name tells sources apart; documents for one kind of rule are merged in the order of their names.
	Name() string
	// Start reads the document once, hands it to h and goes on watching until ctx is done or Close is called. It
	// returns when the first read is done or its deadline has passed. An error, which under Optional means wrong
	// use or a ctx that is done, leaves the source closed. A second Start is an error.
	Start(ctx context.Context, h Handler) error
	// Close ends the watching and waits for it. It closes only what the source itself made. It may be called at
	// any time and again.
	Close() error
	// State tells how the source is doing.
	State() State
}

// A StartPolicy says what Start does if the first read brings no good document.
type StartPolicy uint8

// The start policies.
const (
	Optional StartPolicy = iota // start without a document and take it when it comes (default)
	Require                     // Start fails
)

// A DeletePolicy says what the deletion of the document does.
type DeletePolicy uint8

// The delete policies. Files keep by default, configuration centres clear: there a deletion is a person's act, while
// editors and volume mounts take files away for a moment.
const (
	KeepOnDelete  DeletePolicy = iota // rules stay, the state says deleted
	ClearOnDelete                     // the handler takes the rules back
)

// A Policy is what all sources can be told. The zero value starts without a document, keeps on deletion and gives the
// first read 5 seconds.
type Policy struct {
	Start        StartPolicy
	Delete       DeletePolicy
	StartTimeout time.Duration // of the first read; 0 or less: 5 s
}

// A State tells how a source is doing. The zero value is that of a source that was not started.
type State struct {
	LastSuccess   time.Time // when the document was last seen to be what is in force; zero: never
	LastUpdate    time.Time // when the handler last took new content; zero: never
	LastError     error     // what is wrong now: failed read, refused or partly accepted content; nil: nothing
	LastErrorTime time.Time // when an error last occurred; stays when LastError is nil again
	Revision      string    // of the content in force, as the source counts (files: SHA-256 in hex); "": none
	Deleted       bool      // the document was there and is gone
	Stale         bool      // what is in force is not, or may not be, what the document holds now
	Updates       uint64    // contents that the handler took
	Failures      uint64    // failed reads and refused contents
	Accepted      int       // rules in force, if the handler is a RuleCounter
	Refused       int       // rules refused, if the handler is a RuleCounter
}
