package tidehttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/tidegate-go/tidegate"
)

// Transport guards the requests that a client sends through next; nil stands for http.DefaultTransport.
//
// The resource of a request is METHOD:host, followed by the template that its context carries (WithTemplate), as
// in GET:api.example.com/users/{id}; WithResource names it otherwise. A refused request is not sent, and its
// error is a *tidegate.BlockError. The call ends when the response's body was read to its end or closed, so bodies
// must be closed, as always; it fails with the error of the transport or the body, or by the status.
func Transport(next http.RoundTripper, options ...Option) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{config: newConfig(options), next: next}
}

type transport struct {
	config
	next http.RoundTripper
}

type templateKey struct{}

// WithTemplate returns a context for requests whose path was made from the template, such as /users/{id}.
func WithTemplate(ctx context.Context, template string) context.Context {
	return context.WithValue(ctx, templateKey{}, template)
}

// RoundTrip sends the request if the engine lets it.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.skip != nil && t.skip(r) {
		return t.next.RoundTrip(r)
	}
	entry, err := t.enter(r)
	if err != nil {
		return t.refuse(r, err)
	}
	sent := false
	defer func() {
		if !sent {
			entry.Exit(ErrPanicked)
		}
	}()
	response, err := t.next.RoundTrip(r)
	sent = true
	switch {
	case err != nil:
		entry.Exit(left(r, err))
	case response == nil:
		entry.Exit(nil)
	default:
		t.watch(response, entry)
	}
	return response, err
}

func (t *transport) enter(r *http.Request) (tidegate.Entry, error) {
	call := t.call(r)
	args := borrowArgs()
	defer args.giveBack()
	call.Args = args.list[:0]
	for i := range t.args {
		call.Args = append(call.Args, t.arg(&t.args[i], r))
	}
	return t.engine.Enter(r.Context(), t.name(r), call)
}

func (t *transport) name(r *http.Request) string {
	if t.resource != nil {
		if name := t.resource(r); name != "" {
			return name
		}
	}
	host := r.Host
	if host == "" && r.URL != nil {
		host = r.URL.Host
	}
	template, _ := r.Context().Value(templateKey{}).(string)
	return Method(r.Method) + ":" + host + template
}

// refuse answers a request that a rule refused, and sends one that another error is about. A RoundTripper always closes
// the body.
func (t *transport) refuse(r *http.Request, err error) (*http.Response, error) {
	blocked, ok := errors.AsType[*tidegate.BlockError](err)
	if !ok {
		return t.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if t.fallback != nil {
		return t.fallback(r, blocked)
	}
	return nil, blocked
}

// watch ends the call with the response's body.
func (t *transport) watch(response *http.Response, entry tidegate.Entry) {
	var outcome error
	if t.failure(response.StatusCode) {
		outcome = StatusError(response.StatusCode)
	}
	if response.Body == nil || response.Body == http.NoBody {
		entry.Exit(outcome)
		return
	}
	watched := &body{ReadCloser: response.Body, entry: entry, outcome: outcome}
	response.Body = watched
	if w, ok := watched.ReadCloser.(io.Writer); ok { // after 101 Switching Protocols
		response.Body = struct {
			*body
			io.Writer
		}{watched, w}
	}
}

// body ends a call when it is read to its end, fails or is closed.
type body struct {
	io.ReadCloser
	once    sync.Once
	entry   tidegate.Entry
	outcome error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		outcome := b.outcome
		if outcome == nil && !errors.Is(err, io.EOF) {
			outcome = err
		}
		b.end(outcome)
	}
	return n, err
}

// Close closes the body below and ends the call with the status' outcome.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end(b.outcome)
	return err
}

func (b *body) end(outcome error) { b.once.Do(func() { b.entry.Exit(outcome) }) }
