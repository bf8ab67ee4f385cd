package client

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Client asks one token server at a time. Make one with New. It is safe for concurrent use. The zero value, and nil,
// answer every request with ErrClosed; the zero value can be started and has the defaults of New.
type Client struct {
	options
	made    sync.Once
	timeout atomic.Int64 // ns
	epoch   time.Time
	kick    chan struct{}  // tells the supervisor to look
	running sync.WaitGroup // all goroutines
	waiters waiters

	current   atomic.Pointer[conn] // what requests go to; nil: none
	down      atomic.Pointer[fault]
	connected atomic.Int32
	local     atomic.Int64
	dropped   atomic.Int64
	droppedAt atomic.Int64 // when dropped values were logged last

	mu         sync.Mutex
	target     string // guarded by mu, as all below
	version    int    // of target
	stop       context.CancelFunc
	closed     bool
	phase      State         // of the attempt to connect
	deciding   bool          // the first attempt since Start or SetServer has not ended
	shown      State         // as it was looked at last
	since      time.Time     // of shown
	changed    chan struct{} // closed when shown, deciding or closed changes
	lastErr    error
	conns      map[*conn]struct{} // not over
	past       figures            // of those that are over
	reconnects int64
	met        bool // there was a connection
	notes      notes
}

// New makes a client that is not started.
func New(opts ...Option) *Client {
	c := new(Client)
	c.make(opts)
	return c
}

// make sets the options, once.
func (c *Client) make(opts []Option) {
	c.made.Do(func() {
		c.options = defaults()
		for _, o := range opts {
			if o != nil {
				o(&c.options)
			}
		}
		c.timeout.Store(int64(c.wait))
		c.epoch = time.Now().Add(-time.Second) // so that no time is 0
		c.kick = make(chan struct{}, 1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.target, c.since, c.changed, c.conns = c.server, time.Now(), make(chan struct{}), map[*conn]struct{}{}
	})
}

// Start lets the client connect, in the background. It has no effect on one that is started or closed.
func (c *Client) Start() {
	if c == nil {
		return
	}
	c.make(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil || c.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop, c.phase = cancel, StateConnecting
	if c.deciding = c.target != ""; !c.deciding {
		c.setDown(&fault{kind: ErrUnassigned})
	}
	c.observe()
	c.running.Go(func() { c.supervise(ctx) })
}

// SetServer sets the address of the server, host:port; "" means none. A started client goes there at once, and uses the
// server it had until the new one is ready or the first attempt to reach it has failed. The address that is already set
// is connected to at once if it is not.
func (c *Client) SetServer(addr string) {
	if c == nil {
		return
	}
	c.make(nil)
	c.mu.Lock()
	c.target = addr
	c.version++
	c.deciding = c.stop != nil && !c.closed && addr != ""
	c.observe()
	c.mu.Unlock()
	c.nudge()
}

// SetTimeout sets how long requests from now on wait for their answer, 20 ms if d is not above zero.
func (c *Client) SetTimeout(d time.Duration) {
	if c == nil {
		return
	}
	c.make(nil)
	c.timeout.Store(int64(positive(d, DefaultTimeout)))
}

// Close ends the client: requests that wait fail at once, as all later ones do, with ErrClosed. It returns when
// all its goroutines have ended. It may be called more than once; the error is always nil.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	c.make(nil)
	c.mu.Lock()
	c.closed = true
	c.deciding = false
	stop := c.stop
	c.observe()
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	c.running.Wait()
	return nil
}

// Ready waits until a connection can be used, or until it is known why not: nil, ErrLocal, or the error of the last
// attempt to connect, of which the first since Start or SetServer is waited for. It also ends with the context.
func (c *Client) Ready(ctx context.Context) error {
	if c == nil {
		return ErrClosed
	}
	c.make(nil)
	for {
		c.mu.Lock()
		deciding, changed := c.deciding, c.changed
		c.mu.Unlock()
		if !deciding {
			return c.verdict()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Client) verdict() error {
	switch cn := c.current.Load(); {
	case cn == nil:
		return c.reason()
	case cn.silent.Load():
		return ErrLocal
	}
	return nil
}

// Connected returns how many clients the server counted last in the client's namespace, 0 while that is not known. It
// keeps the number when the connection is lost.
func (c *Client) Connected() int {
	if c == nil {
		return 0
	}
	return int(c.connected.Load())
}

// reason says why there is no connection.
func (c *Client) reason() error {
	if f := c.down.Load(); f != nil {
		return f
	}
	return ErrClosed
}

// nudge makes the supervisor look at everything again.
func (c *Client) nudge() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// now is the time on the client's clock, in ns. It only goes forward and is never 0.
func (c *Client) now() int64 { return int64(time.Since(c.epoch)) }

// random returns a number from 0 to below bound.
func (c *Client) random(bound int64) int64 { return rand.Int64N(max(1, bound)) }
