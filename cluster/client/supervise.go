package client

import (
	"context"
	"errors"
	"math"
	"time"
)

const (
	quickPing  = int64(time.Second) // between pings while the server is silent
	soonPing   = int64(250 * time.Millisecond)
	renewEvery = int64(500 * time.Millisecond)
	longSpell  = int64(10 * time.Second) // without silence, after which the first ping is sent at once
	mostMissed = 3                       // pings in a row without answer before another connection is tried
)

// supervisor keeps a client connected. One goroutine runs it.
type supervisor struct {
	client   *Client
	addr     string // where to connect
	version  int    // of the client's target, as seen last
	conn     *conn  // in use; nil: none
	attempt  *attempt
	failures int   // in a row
	retryAt  int64 // when the next attempt may begin
	renewAt  int64
	timer    *time.Timer
}

// attempt is a connection being made.
type attempt struct {
	cancel context.CancelFunc
	done   chan outcome
}

type outcome struct {
	conn *conn
	err  error
}

// supervise runs until the context ends.
func (c *Client) supervise(ctx context.Context) {
	s := &supervisor{client: c, version: -1, timer: time.NewTimer(time.Hour)}
	defer s.stop()
	for {
		now := c.now()
		s.follow(now)
		s.lookAfter(now)
		next := min(s.beat(now), s.try(ctx, now))
		c.look()
		s.timer.Reset(time.Duration(max(0, min(next-c.now(), int64(time.Hour)))))
		var ended chan outcome
		if s.attempt != nil {
			ended = s.attempt.done
		}
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-s.timer.C:
		case o := <-ended:
			s.arrived(o)
		}
	}
}

func (s *supervisor) stop() {
	s.timer.Stop()
	s.giveUp()
	s.leave(&fault{kind: ErrClosed})
	s.client.mu.Lock()
	var open []*conn
	for cn := range s.client.conns {
		open = append(open, cn)
	}
	s.client.mu.Unlock()
	for _, cn := range open {
		cn.end(ErrClosed)
	}
}

// follow takes a server that was set since the last look.
func (s *supervisor) follow(now int64) {
	s.client.mu.Lock()
	target, version := s.client.target, s.client.version
	s.client.mu.Unlock()
	if version == s.version {
		return
	}
	s.version, s.failures, s.retryAt = version, 0, now
	changed := target != s.addr
	if changed {
		s.giveUp()
		s.addr = target
	}
	switch {
	case target == "":
		s.leave(&fault{kind: ErrUnassigned})
	case s.conn != nil && s.conn.addr == target:
		s.client.decided(nil)
	case s.conn == nil && changed:
		s.client.setDown(&fault{kind: ErrClosed, detail: errors.New("connecting to " + target)})
	}
}

// lookAfter notices that the connection is over.
func (s *supervisor) lookAfter(now int64) {
	if s.conn == nil {
		return
	}
	select {
	case <-s.conn.done:
	default:
		return
	}
	cn := s.conn
	cn.mu.Lock()
	why := cn.why
	cn.mu.Unlock()
	s.leave(why)
	s.client.lost(cn.addr, why)
	if now-cn.born >= int64(s.client.backoffMax) {
		s.failures = 0
	}
	s.postpone(now)
}

// postpone sets when the next attempt begins: exponential back-off with full jitter.
func (s *supervisor) postpone(now int64) {
	bound := int64(s.client.backoffMax)
	if shift := s.failures; shift < 30 {
		bound = min(bound, int64(s.client.backoffMin)<<shift)
	}
	s.failures++
	s.retryAt = now + s.client.random(bound)
}

// leave makes requests fail with a reason, and lets the connection in use end once it is drained.
func (s *supervisor) leave(why error) {
	s.client.setDown(why)
	s.client.current.Store(nil)
	if s.conn != nil {
		s.conn.retire()
		s.conn = nil
	}
}

// try begins an attempt to connect if there should be one, and returns when to look again.
func (s *supervisor) try(ctx context.Context, now int64) (next int64) {
	if s.addr == "" || s.attempt != nil || !s.wanting() {
		return math.MaxInt64
	}
	if now < s.retryAt {
		return s.retryAt
	}
	c, addr := s.client, s.addr
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{cancel: cancel, done: make(chan outcome)}
	s.attempt = a
	c.setPhase(StateConnecting)
	c.running.Go(func() {
		cn, err := c.connect(ctx, addr)
		select {
		case a.done <- outcome{cn, err}:
		case <-ctx.Done():
			if cn != nil {
				cn.end(errMoved)
			}
		}
	})
	return math.MaxInt64
}

// wanting says whether a connection is missing, leads to a server that is not the one any more, or stays silent.
func (s *supervisor) wanting() bool {
	if s.conn == nil || s.conn.addr != s.addr {
		return true
	}
	_, _, unheard := s.conn.heard()
	return unheard >= mostMissed
}

func (s *supervisor) giveUp() {
	if s.attempt != nil {
		s.attempt.cancel()
		s.attempt = nil
	}
}

// arrived takes the outcome of an attempt.
func (s *supervisor) arrived(o outcome) {
	c := s.client
	s.attempt.cancel()
	s.attempt = nil
	if o.err != nil {
		if s.conn == nil || s.conn.addr != s.addr {
			s.leave(o.err)
		}
		s.postpone(c.now())
		c.decided(o.err)
		c.noteFailure(s.addr, o.err)
		return
	}
	old := s.conn
	s.conn = o.conn
	c.current.Store(o.conn)
	if old != nil {
		old.retire()
	}
	c.reached()
	c.decided(nil)
}

// patience is how long a ping may stay unanswered before it says as much as requests that did: not before these would.
func (c *Client) patience() int64 {
	return max(quickPing, int64(c.maxTimeouts)*c.timeout.Load())
}

// beat pings and renews when it is time to, and returns when it is again.
func (s *supervisor) beat(now int64) (next int64) {
	cn := s.conn
	if cn == nil {
		return math.MaxInt64
	}
	next = math.MaxInt64
	if cn.holds() {
		if now >= s.renewAt {
			cn.renew()
			s.renewAt = now + renewEvery
		}
		next = s.renewAt
	}
	due, look := s.pingDue(cn, now)
	if now >= due {
		cn.ping(now)
		_, look = s.pingDue(cn, now)
	}
	return min(next, look)
}

// pingDue says when the next ping is to be sent, and when to look at that again. One that stays unanswered is followed
// soon. So are those on a young connection, at intervals that double: clients that start together each count those
// before them at first, and their fallback shares would be too large for as long as that is not corrected.
func (s *supervisor) pingDue(cn *conn, now int64) (due, look int64) {
	every := int64(s.client.pingInterval)
	cn.mu.Lock()
	defer cn.mu.Unlock()
	p := &cn.pings
	last := max(cn.born, p.sentAt)
	if cn.silent.Load() {
		due = max(last, cn.silentAt) + min(every, quickPing)
		if cn.sudden && last < cn.silentAt {
			due = cn.silentAt
		}
		return due, due
	}
	look = last + min(every, max(soonPing, last-cn.born))
	if due = look; p.sentAt != 0 && !p.answered {
		due = last + min(every, s.client.patience())
	}
	if look <= now {
		look = due
	}
	return due, look
}
