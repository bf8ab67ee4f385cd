package tidegate

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// CustomCheck is a check of the user's, asked about every call of every resource.
type CustomCheck interface {
	// Name names the check in logs.
	Name() string
	// Order places it among the checks: see the Order constants of package chain. 0 is after all built-in ones
	// but those that ask the token service, which are asked last of all.
	Order() int
	// Check returns nil to let the call pass. Another error refuses it: a *BlockError as it is, any other as the
	// cause of one of kind custom. A panic is counted as an internal error and lets the call pass.
	Check(c *chain.Context) error
}

// registered is a CustomCheck with its name and order, asked once.
type registered struct {
	check CustomCheck
	name  string
	order int
}

func register(check CustomCheck) (r registered, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a custom check cannot tell its name and order: it panicked: %v", p)
		}
	}()
	return registered{check: check, name: "check " + check.Name(), order: check.Order()}, nil
}

// customCheck adapts a CustomCheck to one resource.
type customCheck struct {
	engine   *Engine
	own      registered
	resource string
}

// Check asks the user's check.
func (k *customCheck) Check(c *chain.Context) (blocked *BlockError) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			k.engine.failed(k.own.name, fmt.Errorf("panic: %v", p))
			blocked = nil
			return
		}
		c.UndoTo(chain.Mark{}) // it ended the goroutine
	}()
	err := k.own.check.Check(c)
	returned = true
	if err == nil {
		return nil
	}
	if blocked, ok := errors.AsType[*BlockError](err); ok {
		return blocked
	}
	return chain.NewBlockError(chain.KindCustom, k.resource, nil, err, nil)
}

// Info tells a callback which call it is about.
type Info struct {
	Resource, Entrance, Origin string
	Count                      int
	Inbound                    bool
	Args                       []Arg // valid only during the callback
}

// Callbacks are told what happens to calls. Any may be nil.
type Callbacks struct {
	Pass     func(Info)                                              // let in, after any wait
	Block    func(Info, *BlockError)                                 // refused
	Observe  func(Info, *BlockError)                                 // would have been refused by a rule that only observes
	Complete func(info Info, rt time.Duration, err error, o Outcome) // ended
}

func infoOf(c *chain.Context) Info {
	return Info{
		Resource: c.Resource.Name, Entrance: c.Entrance, Origin: c.Origin, Count: int(c.Count), Inbound: c.Inbound, Args: c.Args(),
	}
}

func (e *Engine) tell(f func(Callbacks)) {
	for _, callbacks := range e.config.callbacks {
		e.guard("callback", func() { f(callbacks) })
	}
}

func (e *Engine) tellPass(c *chain.Context) {
	e.tell(func(to Callbacks) {
		if to.Pass != nil {
			to.Pass(infoOf(c))
		}
	})
}

func (e *Engine) tellBlock(c *chain.Context, err *BlockError) {
	e.tell(func(to Callbacks) {
		if to.Block != nil {
			to.Block(infoOf(c), err)
		}
	})
}

func (e *Engine) tellObserve(c *chain.Context, err *BlockError) {
	e.tell(func(to Callbacks) {
		if to.Observe != nil {
			to.Observe(infoOf(c), err)
		}
	})
}

func (e *Engine) tellComplete(c *chain.Context, err error, d chain.Done) {
	e.tell(func(to Callbacks) {
		if to.Complete != nil {
			to.Complete(infoOf(c), d.RT, err, d.Outcome)
		}
	})
}
