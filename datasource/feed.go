package datasource

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// retryRefused is how long refused content is held back before the same content is offered to the handler again.
const retryRefused = time.Second

// A Feed is the part that all sources share: it starts and ends the watching, calls the handler, and keeps the state.
// A source embeds or holds one, gives Start a function that watches, and reports what it sees with Content, Absent,
// Fail and Confirm; the first report is the result of the first read. All methods may be called from any goroutine;
// reports are taken one after the other. Make one with NewFeed.
type Feed struct {
	life   lifecycle
	name   string
	policy Policy

	reports  sync.Mutex // held while a report is taken, the handler's call included
	handler  Handler    // set by Start
	inForce  *digest    // guarded by reports; nil: nothing in force
	note     error      // guarded by reports; faults of the content in force
	refused  *digest    // guarded by reports; the content refused last
	refusal  error      // guarded by reports; why
	retryAt  time.Time  // guarded by reports; when refused is offered again
	known    bool       // guarded by reports; there has been a document, good or bad
	clearing bool       // guarded by reports; the handler has yet to take the rules back

	mu    sync.Mutex
	state State // guarded by mu
}

type digest = [sha256.Size]byte

// NewFeed returns a feed for the source of that name.
func NewFeed(name string, policy Policy) *Feed {
	return &Feed{name: name, policy: policy}
}

// Name returns the source's name.
func (f *Feed) Name() string {
	if f == nil {
		return ""
	}
	return f.name
}

// State returns the source's state.
func (f *Feed) State() State {
	if f == nil {
		return State{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Content reports the document's content. Empty content and content equal to what is in force do not reach the
// handler. Revision "" stands for the content's SHA-256 in hex. It returns nil if the content is in force; content
// that was refused is offered to the handler again when it is reported a second later or more.
func (f *Feed) Content(ctx context.Context, content []byte, revision string) error {
	return f.report(func() error { return f.content(ctx, content, revision) })
}

// content takes new content. Caller holds reports.
func (f *Feed) content(ctx context.Context, content []byte, revision string) error {
	f.known = true
	f.exists()
	if blank(content) {
		return f.fail(f.errorf("%w; what was in force stays", ErrEmpty))
	}
	sum := sha256.Sum256(content)
	if revision == "" {
		revision = hex.EncodeToString(sum[:])
	}
	if f.inForce != nil && *f.inForce == sum {
		f.agree(revision)
		return nil
	}
	if f.refused != nil && *f.refused == sum && time.Now().Before(f.retryAt) {
		f.mark(f.refusal)
		return f.refusal
	}
	err := f.call(func() error { return f.handler.Update(ctx, content) })
	var partial *PartialError
	if err != nil && !errors.As(err, &partial) {
		f.refusal = f.errorf("content refused, what was in force stays: %w", err)
		f.refused, f.retryAt = &sum, time.Now().Add(retryRefused)
		return f.fail(f.refusal)
	}
	f.inForce, f.note = &sum, nil
	if err != nil {
		f.note = f.errorf("%w", err)
	}
	f.updated(revision)
	return nil
}

// Absent reports that there is no document. Before the first content this is an ErrAbsent, afterwards a deletion: the
// handler is told or not as the policy says.
func (f *Feed) Absent(ctx context.Context) error {
	return f.report(func() error { return f.absent(ctx) })
}

// absent takes a deletion. Caller holds reports.
func (f *Feed) absent(ctx context.Context) error {
	f.refused = nil
	if !f.known {
		err := f.errorf("%w", ErrAbsent)
		f.mark(err)
		return err
	}
	if f.inForce == nil && !f.clearing {
		f.deleted(false)
		return nil
	}
	if f.policy.Delete != ClearOnDelete {
		f.deleted(true)
		return nil
	}
	f.inForce, f.note, f.clearing = nil, nil, true
	if err := f.call(func() error { return f.handler.Deleted(ctx) }); err != nil {
		f.deleted(true)
		return f.fail(f.errorf("document deleted, but its rules could not be taken back: %w", err))
	}
	f.clearing = false
	f.deleted(false)
	return nil
}

// Fail reports that the document could not be read. What is in force stays. It returns the error as the state shows it.
func (f *Feed) Fail(err error) error {
	return f.report(func() error { return f.fail(f.errorf("%w; what was in force stays", err)) })
}

// Confirm reports that the document was looked at and has not changed since the last report.
func (f *Feed) Confirm() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Updates > 0 && !f.state.Stale && !f.state.Deleted {
		f.state.LastSuccess = time.Now()
	}
}

// report takes one report unless the feed is not running, and passes the first one on to Start.
func (f *Feed) report(take func() error) error {
	if f == nil {
		return ErrClosed
	}
	f.reports.Lock()
	defer f.reports.Unlock()
	if !f.life.running() {
		return f.errorf("%w", ErrClosed)
	}
	err := take()
	f.life.observed(err)
	return err
}

// call runs one call of the handler; a panic is an error, because the watching must not take the process down.
func (f *Feed) call(handle func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return handle()
}

func (f *Feed) errorf(format string, args ...any) error {
	return fmt.Errorf("data source %q: "+format, append([]any{f.name}, args...)...)
}

// blank reports whether there is nothing but white space and a byte order mark.
func blank(content []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")))) == 0
}
