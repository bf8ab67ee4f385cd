package standalone

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A door is an address that the next parts serve and the old ones do not, or not so.
type door struct {
	member  string
	address string                     // in the configuration
	before  string                     // in the one before
	open    net.Addr                   // what the old parts serve; nil: nothing
	serve   func(address string) error // for the next parts
	stop    func()                     // ends what serve began
	release func()                     // ends what the old parts serve
	restore func() error               // serves for the old parts again
}

// inTheWay says whether the old address has to be closed before the new one can be opened.
func (d *door) inTheWay() bool {
	return d.open != nil && (d.address == d.before || samePort(d.address, d.open))
}

// place returns the address to open. A port of the system's choice stays, but a host's name may lead elsewhere by now.
func (d *door) place() string {
	host, port, err := net.SplitHostPort(d.address)
	if tcp, ok := d.open.(*net.TCPAddr); ok && err == nil && port == "0" && d.address == d.before {
		return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	return d.address
}

// openPorts opens what the configuration listens on. Addresses for which another one must be closed come last, so that
// nobody is cut off for a configuration that cannot be put into force.
func (t *transition) openPorts(ctx context.Context) error {
	doors := t.doors(ctx)
	for i := range doors {
		if d := &doors[i]; !d.inTheWay() {
			if err := t.through(d); err != nil {
				return err
			}
		} else if err := d.probe(ctx); err != nil {
			return err
		}
	}
	for i := range doors {
		if d := &doors[i]; d.inTheWay() {
			if err := t.takeOver(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// A cut is an address for which another one was closed in vain. As clients are cut off for it, it is tried again only
// after a while.
type cut struct {
	address string
	err     error
	pause   time.Duration
	until   time.Time
}

const (
	leastPause = 10 * time.Second
	mostPause  = 10 * time.Minute
)

// takeOver closes what is in the way and opens the address.
func (t *transition) takeOver(d *door) error {
	before := &t.server.cut
	same := before.address == d.address
	if same && time.Now().Before(before.until) {
		return fmt.Errorf("%w (tried again after %v, as clients are cut off for it)", before.err, before.pause)
	}
	d.release()
	t.undo = append(t.undo, func() { t.restore(d) })
	err := t.through(d)
	if err != nil {
		pause := leastPause
		if same {
			pause = min(mostPause, 2*before.pause)
		}
		*before = cut{d.address, err, pause, time.Now().Add(pause)}
	}
	return err
}

func (t *transition) through(d *door) error {
	if err := d.serve(d.place()); err != nil {
		return fmt.Errorf("%s: %w", d.member, err)
	}
	t.undo = append(t.undo, d.stop)
	return nil
}

// probe finds out whether the host is one of this machine's.
func (d *door) probe(ctx context.Context) error {
	host, _, err := net.SplitHostPort(d.address)
	if err != nil {
		return fmt.Errorf("%s: %w", d.member, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return fmt.Errorf("%s: %s cannot be opened: %w", d.member, d.address, err)
	}
	return l.Close()
}

func (t *transition) restore(d *door) {
	if err := d.restore(); err != nil {
		t.server.logger.Error("the address of the configuration before could not be opened again",
			"member", d.member, "address", d.open.String(), "error", err)
	}
}

// doors returns what is to be opened. What goes on as it is goes over to the next parts.
func (t *transition) doors(ctx context.Context) (doors []door) {
	if t.next.sameServer(&t.old) {
		t.next.server, t.next.addr = t.old.server, t.old.addr
	} else {
		doors = append(doors, t.serverDoor(ctx))
	}
	if t.rls != nil {
		doors = append(doors, t.rlsDoor(ctx))
	}
	switch address := t.next.config.Admin; {
	case address == "":
	case t.old.admin != nil && address == t.old.config.Admin:
		t.next.admin = t.old.admin
	default:
		doors = append(doors, t.adminDoor(ctx))
	}
	return doors
}

func (t *transition) serverDoor(ctx context.Context) door {
	s, old, next := t.server, &t.old, &t.next
	d := door{
		member: "listen", address: next.config.listen(), before: old.config.listen(),
		serve: func(address string) (err error) {
			next.server = next.newServer(s)
			next.addr, err = next.server.Listen(ctx, address)
			return err
		},
		stop:    func() { s.drain(next.server) },
		release: func() { s.drain(old.server); s.parts.server = nil },
		restore: func() error {
			again := old.newServer(s)
			_, err := again.Listen(ctx, old.addr.String())
			if err == nil {
				s.parts.server = again
			}
			return err
		},
	}
	if old.server != nil {
		d.open = old.addr
	}
	return d
}

func (t *transition) rlsDoor(ctx context.Context) door {
	s, old := t.server, &t.old
	end := func(r *rls) {
		ctx, cancel := s.draining()
		defer cancel()
		r.closeUnless(ctx, nil)
	}
	d := door{
		member: "rls-listen", address: t.next.config.RLSListen, before: old.config.RLSListen,
		serve: func(address string) error {
			t.next.rls = t.rls
			return t.rls.listen(ctx, address)
		},
		stop:    func() { end(t.rls) },
		release: func() { end(old.rls); s.parts.rls = nil },
		restore: func() error {
			again := old.newRLS()
			err := again.listen(ctx, old.rls.addr.String())
			if err == nil {
				s.parts.rls = again
			}
			return err
		},
	}
	if old.rls != nil {
		d.open = old.rls.addr
	}
	return d
}

func (t *transition) adminDoor(ctx context.Context) door {
	s, old, next := t.server, &t.old, &t.next
	d := door{
		member: "admin", address: next.config.Admin, before: old.config.Admin,
		serve: func(address string) (err error) {
			next.admin, err = s.serveAdmin(ctx, address)
			return err
		},
		stop:    func() { next.admin.closeUnless(nil) },
		release: func() { old.admin.closeUnless(nil); s.parts.admin = nil },
		restore: func() (err error) {
			s.parts.admin, err = s.serveAdmin(ctx, old.admin.addr.String())
			return err
		},
	}
	if old.admin != nil {
		d.open = old.admin.addr
	}
	return d
}
