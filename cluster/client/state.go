package client

import (
	"errors"
	"log/slog"
	"time"
)

// state is what the client is doing now. Caller holds mu.
func (c *Client) state() State {
	cn := c.current.Load()
	switch {
	case c.stop == nil, c.closed:
		return StateOff
	case cn != nil && cn.silent.Load():
		return StateLocal
	case cn != nil:
		return StateReady
	case c.target == "":
		return StateOff
	}
	return c.phase
}

// observe notes a change of state. Caller holds mu.
func (c *Client) observe() {
	s := c.state()
	if s == c.shown {
		return
	}
	was := c.shown
	c.shown, c.since = s, time.Now()
	c.announce()
	switch {
	case s == StateLocal:
		c.note(noteLocal, slog.LevelWarn, "token server does not answer, deciding locally", slog.String("server", c.target))
	case s == StateReady && was == StateLocal:
		c.note(noteBack, slog.LevelInfo, "token server answers again", slog.String("server", c.target))
	case s == StateReady:
		c.note(noteReady, slog.LevelInfo, "connected to token server", slog.String("server", c.target))
	}
}

// announce wakes those who wait for a change. Caller holds mu.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// look notes a change of state.
func (c *Client) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observe()
}

// setPhase notes how far an attempt to connect has come.
func (c *Client) setPhase(p State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = p
	c.observe()
}

// setDown sets why requests fail while there is no connection.
func (c *Client) setDown(why error) {
	var f *fault
	switch {
	case errors.As(why, &f):
	case why == nil:
		f = &fault{kind: ErrClosed}
	default:
		f = &fault{kind: ErrClosed, detail: why}
	}
	c.down.Store(f)
}

// decided notes how an attempt ended.
func (c *Client) decided(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deciding = false
	c.phase = StateConnecting
	if err != nil {
		c.lastErr = err
	}
	c.observe()
	c.announce()
}

// reached counts a connection.
func (c *Client) reached() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.met {
		c.reconnects++
	}
	c.met = true
}

// lost notes that the connection in use ended.
func (c *Client) lost(addr string, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = why
	c.note(noteLost, slog.LevelWarn, "connection to token server lost", slog.String("server", addr), slog.Any("error", why))
}

// opened notes a connection for its figures. False means that the client is closed.
func (c *Client) opened(cn *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[cn] = struct{}{}
	return !c.closed
}

// ended keeps the figures of a connection that is over.
func (c *Client) ended(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cn.mu.Lock()
	defer cn.mu.Unlock()
	c.past.add(&cn.figures)
	delete(c.conns, cn)
}
