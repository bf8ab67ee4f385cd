package tidegate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tidegate-go/tidegate/flow"
)

// WithFlowBehavior registers a control behaviour of the user's for flow rules whose controlBehavior is that value,
// from 4 to 255, in code or in documents. Without it such rules are refused.
func WithFlowBehavior(value flow.ControlBehavior, factory flow.Factory) Option {
	return func(c *config) error {
		if value <= flow.WarmUpThrottling || factory == nil {
			return fmt.Errorf("control behaviour %d: needs a value above %d and a factory", value, flow.WarmUpThrottling)
		}
		if c.behaviors == nil {
			c.behaviors = map[flow.ControlBehavior]flow.Factory{}
		}
		c.behaviors[value] = factory
		return nil
	}
}

// WithInit runs a function when the engine is made, in the order of registration. One that fails or panics is
// logged and counted as an internal error; it stops neither the engine nor the others.
func WithInit(name string, run func(*Engine) error) Option {
	return func(c *config) error {
		if run == nil {
			return fmt.Errorf("init function %q must not be nil", name)
		}
		c.inits = append(c.inits, initFunction{name: name, run: run})
		return nil
	}
}

type initFunction struct {
	name string
	run  func(*Engine) error
}

func (e *Engine) runInits() {
	for _, f := range e.config.inits {
		e.guard("init function "+f.name, func() {
			if err := f.run(e); err != nil {
				e.failed("init function "+f.name, err)
			}
		})
	}
}

// DocumentParser reads rule documents of the user's own form.
type DocumentParser interface {
	DataID() string // where a configuration centre keeps the document
	Group() string  // its group there
	// Load reads the document and loads its rules into the engine. On error nothing must have changed.
	Load(e *Engine, text []byte) error
}

// WithDocumentParser registers a parser by name; a later one of the same name replaces it.
func WithDocumentParser(name string, parser DocumentParser) Option {
	return func(c *config) error {
		if name == "" || parser == nil {
			return fmt.Errorf("document parser %q: needs a name and a parser", name)
		}
		if c.parsers == nil {
			c.parsers = map[string]DocumentParser{}
		}
		c.parsers[name] = parser
		return nil
	}
}

// DocumentParsers returns the names of the registered parsers, in order.
func (e *Engine) DocumentParsers() []string {
	if !e.made() {
		return nil
	}
	return slices.Sorted(maps.Keys(e.config.parsers))
}

// DocumentParser returns the registered parser of that name.
func (e *Engine) DocumentParser(name string) (DocumentParser, bool) {
	if !e.made() {
		return nil, false
	}
	p, ok := e.config.parsers[name]
	return p, ok
}

// LoadDocument gives a document to the registered parser of that name. A panic of the parser is returned as an error.
func (e *Engine) LoadDocument(name string, text []byte) (err error) {
	p, ok := e.DocumentParser(name)
	if !ok {
		return fmt.Errorf("no document parser %q is registered; use WithDocumentParser", name)
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			e.counters.internal.Add(1)
			err = fmt.Errorf("document parser %q panicked: %v", name, panicked)
		}
	}()
	return p.Load(e, text)
}
