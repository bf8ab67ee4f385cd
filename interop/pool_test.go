package interop_test

import "testing"

// pool asks through raw connections: a free one or a new one, so that scripts do not wait for each other.
type pool struct {
	addr string
	free chan *conn
}

// newPool returns a pool, which ends with the test.
func newPool(t *testing.T, addr string) *pool {
	p := &pool{addr: addr, free: make(chan *conn, 256)}
	t.Cleanup(func() {
		close(p.free)
		for c := range p.free {
			_ = c.Close()
		}
	})
	return p
}

// open makes connections beforehand and uses them.
func (p *pool) open(n int) error {
	for range n {
		c, err := dial(p.addr)
		if err != nil {
			return err
		}
		if _, err := c.join("warm-up"); err != nil {
			return err
		}
		p.free <- c
	}
	return nil
}

func (p *pool) ask(s step, base int64) (answer, error) {
	var c *conn
	select {
	case c = <-p.free:
	default:
		var err error
		if c, err = dial(p.addr); err != nil {
			return answer{}, err
		}
	}
	a, err := c.ask(s, base)
	if err != nil {
		_ = c.Close()
		return a, err
	}
	p.free <- c
	return a, nil
}
