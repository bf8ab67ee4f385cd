package server

import (
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// A batch is what a connection needs while it has something to do: what it has read, and what it answers.
type batch struct {
	filled int // of in
	now    int64
	shed   uint8
	in     [batchSize]byte
	out    []byte
	req    wire.Request
	resp   wire.Response
	flows  [64]token.FlowRequest // as many as are decided together

	answers  [statuses]uint32
	pings    uint32
	unproven uint32
	refused  uint32 // shed
}

const (
	batchSize = 16 << 10
	flushAt   = batchSize - 128 // no answer is longer than the rest
	smallSize = 4 << 10         // of the buffer that a connection keeps where it has to
)

func newBatch() *batch {
	return &batch{out: make([]byte, 0, batchSize), req: wire.Request{Values: make([]wire.Value, 0, 16)}}
}

// take returns the connection's batch, with the rest of what was read before.
func (c *conn) take() *batch {
	if c.b == nil {
		b, ok := c.s.pool.Get().(*batch)
		if !ok {
			b = newBatch()
		}
		b.filled = copy(b.in[:], c.rest)
		c.b, c.rest = b, c.rest[:0]
	}
	return c.b
}

// give puts the connection's batch back, if it has one, and keeps the rest of what was read.
func (c *conn) give(rest []byte) {
	b := c.b
	if b == nil {
		return
	}
	c.rest = append(c.rest[:0], rest...)
	if cap(b.req.Values) > wire.MaxParams/2 {
		b.req.Values = make([]wire.Value, 0, 16)
	}
	c.b = nil
	c.s.pool.Put(b)
}

// read waits until there is something to read, and reads it into the batch.
func (c *conn) read() error {
	if c.poll.usable() {
		return c.poll.read()
	}
	if b := c.b; b != nil {
		c.give(b.in[:b.filled])
	}
	if c.small == nil {
		c.small = make([]byte, smallSize)
	}
	for {
		n, err := c.net.Read(c.small)
		if n > 0 {
			b := c.take()
			b.filled += copy(b.in[b.filled:], c.small[:n])
			return nil
		}
		if err != nil {
			return err
		}
	}
}
