package tokens

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// A Shape says what a load asks, and how much at a time.
type Shape struct {
	Conns    int
	InFlight int   // requests on each connection
	IDs      int64 // flow ids to walk through; 0: one
	Values   int64 // not 0: parameter requests that walk through so many values
}

// load is a closed loop on some connections: what one read answers, one write asks again.
type load struct {
	shape  Shape
	server *process
	lanes  []*lane
}

// lane is one connection of a load.
type lane struct {
	shape  Shape
	conn   net.Conn
	turn   int64
	xid    uint32
	sent   []time.Duration // by the low bits of the id
	waited []time.Duration // of every answer
	in     []byte
	out    []byte
	filled int
}

const mostInFlight = 1 << 8

func newLoad(shape Shape, server *process) (*load, error) {
	l := &load{shape: shape, server: server}
	for i := range shape.Conns {
		c, err := net.Dial("tcp", server.addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connecting to a server: %w", err), l.close())
		}
		l.lanes = append(l.lanes, &lane{
			shape: shape, conn: c, turn: int64(i) * shape.Values / int64(shape.Conns),
			sent: make([]time.Duration, mostInFlight), in: make([]byte, bufferSize),
		})
	}
	return l, nil
}

func (l *load) close() error {
	var errs []error
	for _, one := range l.lanes {
		errs = append(errs, one.conn.Close())
	}
	return errors.Join(errs...)
}

// reading is what one slice measured.
type reading struct {
	requests  float64
	perSecond float64
	server    float64 // CPU time per request, ns
	client    float64 // the same of this process
	p99       float64 // ns from asking to answer
}

// slice runs the load for about d.
func (l *load) slice(d time.Duration) (r reading, err error) {
	served, err := l.server.cpu()
	if err != nil {
		return r, err
	}
	used, begin := measure.CPUTime(), time.Now()
	failed := make(chan error)
	for _, one := range l.lanes {
		go func() { failed <- one.run(begin, d) }()
	}
	for range l.lanes {
		err = errors.Join(err, <-failed)
	}
	elapsed := time.Since(begin)
	used = measure.CPUTime() - used
	now, asking := l.server.cpu()
	if err = errors.Join(err, asking); err != nil {
		return r, err
	}
	var waited []time.Duration
	for _, one := range l.lanes {
		waited = append(waited, one.waited...)
	}
	slices.Sort(waited)
	n := float64(len(waited))
	return reading{
		requests: n, perSecond: n / elapsed.Seconds(), server: float64(now-served) / n, client: float64(used) / n,
		p99: float64(waited[len(waited)*99/100]),
	}, nil
}

// run keeps requests in flight until d after begin, and then takes the answers that are missing.
func (l *lane) run(begin time.Time, d time.Duration) error {
	l.waited = l.waited[:0]
	if err := l.conn.SetDeadline(begin.Add(d + time.Minute)); err != nil {
		return err
	}
	if err := l.ask(l.shape.InFlight, begin); err != nil {
		return err
	}
	for flying := l.shape.InFlight; flying > 0; {
		n, err := l.conn.Read(l.in[l.filled:])
		if err != nil {
			return fmt.Errorf("reading answers: %w", err)
		}
		now := time.Since(begin)
		answered, err := l.take(n, now)
		if err != nil {
			return err
		}
		flying -= answered
		if now >= d || answered == 0 {
			continue
		}
		if err := l.ask(answered, begin); err != nil {
			return err
		}
		flying += answered
	}
	return nil
}

// take reads the answers among n more bytes.
func (l *lane) take(n int, now time.Duration) (answered int, err error) {
	b := l.in[:l.filled+n]
	for frame := cut(b); frame != nil; frame = cut(b) {
		b = b[lengthSize+len(frame):]
		if len(frame) <= headerSize || frame[headerSize] != 0 {
			return answered, fmt.Errorf("a request was not granted: % x", frame)
		}
		l.waited = append(l.waited, now-l.sent[binary.BigEndian.Uint32(frame)%mostInFlight])
		answered++
	}
	l.filled = copy(l.in, b)
	return answered, nil
}

// ask sends n requests in one write.
func (l *lane) ask(n int, begin time.Time) error {
	l.out = l.out[:0]
	now := time.Since(begin)
	for range n {
		l.xid = l.xid%uint32(wire.MaxXID) + 1
		l.sent[l.xid%mostInFlight] = now
		l.out = l.append(l.out)
		l.turn++
	}
	if _, err := l.conn.Write(l.out); err != nil {
		return fmt.Errorf("sending requests: %w", err)
	}
	return nil
}

// append appends the next request's frame.
func (l *lane) append(b []byte) []byte {
	if l.shape.Values > 0 {
		b = append(binary.BigEndian.AppendUint32(append(b, 0, 30), l.xid), byte(wire.TypeParam))
		b = binary.BigEndian.AppendUint64(b, 1)
		b = append(b, 0, 0, 0, 1, 0, 0, 0, 1, byte(wire.TagLong)) // one unit, one value
		return binary.BigEndian.AppendUint64(b, uint64(l.turn%l.shape.Values))
	}
	b = append(binary.BigEndian.AppendUint32(append(b, 0, 18), l.xid), byte(wire.TypeFlow))
	b = binary.BigEndian.AppendUint64(b, uint64(1+l.turn%max(1, l.shape.IDs)))
	return append(b, 0, 0, 0, 1, 0) // one unit, not prioritized
}
