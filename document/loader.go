package document

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/datasource"
)

// Format reads texts of one notation. JSON is the default; package yaml has another.
type Format interface {
	// Parse reads the single document, or an array whose kind its members tell.
	Parse(content []byte) (*Document, error)
	// ParseArray reads an array of rules of that kind; anything else is an error.
	ParseArray(kind chain.Kind, content []byte) (*Document, error)
}

// JSON is the format of Sentinel's documents.
type JSON struct{}

// Parse is the function Parse.
func (JSON) Parse(content []byte) (*Document, error) { return Parse(content) }

// ParseArray is the function ParseArray.
func (JSON) ParseArray(kind chain.Kind, content []byte) (*Document, error) {
	return ParseArray(kind, content)
}

// Option is a setting of a Loader.
type Option func(*Loader)

// WithKind says that the text is an array of rules of that kind: an object is then an error. Without it each text is the
// single document or an array whose kind its members tell, whatever the text before was.
func WithKind(kind chain.Kind) Option { return func(l *Loader) { l.fixed = kind } }

// WithFormat reads texts of another notation than JSON.
func WithFormat(f Format) Option { return func(l *Loader) { l.format = f } }

// Strict makes one refused rule reject its whole section, which then keeps its last good rules. Without it the refused
// rule is left out.
func Strict() Option { return func(l *Loader) { l.strict = true } }

// WithNow gives the loader another source of time, for the times in its status. Default: time.Now.
func WithNow(now func() time.Time) Option { return func(l *Loader) { l.now = now } }

// Loader puts the texts of one source into force on an engine. It is a datasource.Handler and a datasource.RuleCounter.
// Rules of other sources are never touched. Safe for concurrent use.
type Loader struct {
	target target
	source string
	format Format
	fixed  chain.Kind // of arrays, the only form; KindCustom: any form, any kind
	strict bool
	now    func() time.Time

	cluster ClusterTarget // nil: nobody

	mu     sync.Mutex
	text   []byte      // what is in force; nil: nothing; guarded by mu
	own    ownSwitches // guarded by mu
	status Status      // guarded by mu
	partly error       // what was wrong with the text in force; guarded by mu
}

// NewLoader returns a loader that puts texts into force on the engine, nil meaning the default engine, under the
// source's name. Documents of several sources are merged in the order of their names; the name "" is that of rules
// loaded by code.
func NewLoader(e *tidegate.Engine, source string, opts ...Option) *Loader {
	if e == nil {
		e = tidegate.Default()
	}
	return newLoader(targetOf(e), source, opts...)
}

func newLoader(t target, source string, opts ...Option) *Loader {
	l := &Loader{target: t, source: source, format: JSON{}, now: time.Now, status: Status{Source: source}}
	for _, o := range opts {
		o(l)
	}
	return l
}

// Update puts a text into force in place of all that the loader put into force before: rules of kinds that it does not
// have are removed. An unreadable one is refused and changes nothing. One that is wrong in parts is in
// force but for these, and the error is then a *datasource.PartialError. The text that is in force already is a no-op
// with the same result. The context is not used.
func (l *Loader) Update(_ context.Context, content []byte) error {
	if l == nil || l.format == nil {
		return errors.New("this document.Loader has no engine; make one with NewLoader")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != nil && bytes.Equal(l.text, content) {
		l.status.LastError, l.status.LastSuccess = l.partly, l.now()
		return l.partly
	}
	d, err := l.read(content)
	if err != nil {
		l.status.LastError, l.status.LastErrorTime = err, l.now()
		return err
	}
	l.text = slices.Clone(content)
	if l.text == nil {
		l.text = []byte{}
	}
	l.put(d)
	return l.partly
}

// put applies a document and keeps its status. The caller holds mu.
func (l *Loader) put(d *Document) {
	report, problems := l.apply(d)
	l.status.Warnings = slices.Clone(d.Warnings)
	problems = append(problems, l.applyCluster(d)...)
	l.status.Document, l.status.Report, l.status.Deleted = d, report, false
	l.status.Revision = d.Revision
	l.status.Refused = report.Count(chain.Refused)
	l.status.Accepted = len(report.Rules) - l.status.Refused
	l.status.LastSuccess = l.now()
	l.partly = nil
	if len(problems) > 0 {
		l.partly = &datasource.PartialError{Err: errors.Join(problems...)}
		l.status.LastErrorTime = l.status.LastSuccess
	}
	l.status.LastError = l.partly
}

// Deleted takes back what the text in force supplied: its rules are removed and its switches return to their defaults.
// The cluster role stays, for a lost document is no order to leave. The context is not used.
func (l *Loader) Deleted(context.Context) error {
	if l == nil || l.format == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != nil {
		l.apply(&Document{})
	}
	l.text, l.partly = nil, nil
	l.applyCluster(&Document{})
	l.status = Status{
		Source: l.source, Deleted: true, ClusterLost: l.status.ClusterLost,
		LastSuccess: l.now(), LastErrorTime: l.status.LastErrorTime,
	}
	return nil
}

// RuleCounts returns how many rules of the text in force were accepted and how many refused.
func (l *Loader) RuleCounts() (accepted, refused int) {
	s := l.Status()
	return s.Accepted, s.Refused
}

// Status tells what is in force and what is wrong.
func (l *Loader) Status() Status {
	if l == nil {
		return Status{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// Status is the state of a Loader.
type Status struct {
	Source        string
	Document      *Document    // in force, not to be changed; nil: none
	Revision      string       // of the document in force
	Report        chain.Report // what became of each of its rules
	Warnings      []string     // about the document itself and its cluster settings; those about rules are in Report
	Accepted      int          // rules that are valid, disabled and duplicate ones included
	Refused       int
	Deleted       bool      // the document was deleted and its rules are removed
	ClusterLost   bool      // an earlier text had a cluster member, which stays in effect though the last has none
	LastSuccess   time.Time // when a text was last put into force, or found to be in force; zero: never
	LastError     error     // what is wrong with the last text; nil: nothing
	LastErrorTime time.Time // when a text was last wrong; zero: never
}
