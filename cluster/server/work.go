package server

import (
	"log/slog"
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// work answers everything that was read. It says whether the connection goes on.
func (c *conn) work() bool {
	b := c.b
	c.touch()
	b.now = c.s.service.Now()
	b.shed = c.s.shed.now()
	in, frames := b.in[:b.filled], 0
	for {
		if c.proven && b.shed == 0 && !c.split.Skipping() {
			var n int
			in, n = c.flows(b, in)
			frames += n
		}
		payload, rest, kind := c.split.Next(in)
		in = rest
		if kind == wire.FramePartial {
			break
		}
		frames++
		if kind == wire.FrameWhole {
			c.answer(b, payload)
		} else {
			c.oversized(b, payload)
		}
		if len(b.out) > flushAt && !c.flush(b) {
			return false
		}
	}
	b.filled = copy(b.in[:], in)
	c.note(frames, b.filled > 0 || c.split.Skipping())
	if !c.flush(b) {
		return false
	}
	c.measure(b)
	return c.stays()
}

// touch notes that the peer is alive.
func (c *conn) touch() {
	if now := c.s.tick.Load(); now != c.last.Load() {
		c.last.Store(now)
	}
}

// note notes what became of the bytes that were read: how many frames, and whether the last one is missing bytes.
func (c *conn) note(frames int, partial bool) {
	if frames > 0 && !c.spoke.Load() {
		c.spoke.Store(true)
		c.s.mu.Lock()
		c.s.waiting.remove(&c.waits)
		c.s.mu.Unlock()
	}
	switch {
	case partial && (!c.half || frames > 0):
		c.half = true
		c.waitsFor.Store(c.s.tick.Load() + 1)
	case c.half && !partial:
		c.half = false
		c.waitsFor.Store(0)
	}
}

// flush sends the answers, and says whether that worked.
func (c *conn) flush(b *batch) bool {
	if len(b.out) == 0 {
		return true
	}
	c.writing.Store(c.s.tick.Load() + 1)
	_, err := c.net.Write(b.out)
	c.writing.Store(0)
	b.out = b.out[:0]
	return err == nil
}

// measured is how rarely a batch is timed: one more reading of the clock in so many.
const measured = 16

// measure adds up what the batch counted, and times some batches.
func (c *conn) measure(b *batch) {
	if c.batches++; c.batches%measured == 1 {
		c.s.totals.latency.add(time.Duration(c.s.service.Now() - b.now))
	}
	for i, n := range b.answers {
		if n > 0 {
			c.tallies.answers[i].Add(uint64(n))
			b.answers[i] = 0
		}
	}
	if b.pings|b.unproven|b.refused != 0 {
		c.tallies.pings.Add(uint64(b.pings))
		c.tallies.unproven.Add(uint64(b.unproven))
		c.tallies.shed.Add(uint64(b.refused))
		b.pings, b.unproven, b.refused = 0, 0, 0
	}
}

// stays says whether the connection goes on after the batch.
func (c *conn) stays() bool {
	switch {
	case c.why.Load() != endPeer:
		c.farewell(c.why.Load())
		return false
	case c.s.maxMalformed > 0 && c.faults > c.s.maxMalformed:
		c.s.quiet(&c.s.said.malformed).Warn("token server closed a connection: too many malformed frames", slog.String("client", c.remote()))
		c.farewell(endMalformed)
		return false
	case c.draining.Load() && !c.drained.IsZero():
		return c.drainsOn()
	}
	return true
}

// drainsOn waits for more of a peer that still sends, within reason.
func (c *conn) drainsOn() bool {
	now, quiet := time.Now(), c.s.timing.quiet
	if now.Sub(c.drained) > drainSteps*quiet {
		c.farewell(endShutdown)
		return false
	}
	return c.sock.SetReadDeadline(now.Add(quiet)) == nil
}

// drainSteps is for how many quiet times a peer that goes on sending is answered after Shutdown.
const drainSteps = 25
