package cluster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
)

// How long things take.
const (
	switchPause   = 200 * time.Millisecond // between the starts of two roles
	connectGrace  = 2 * time.Second        // that a role goes on while the client that follows has no connection
	connectPoll   = 10 * time.Millisecond
	leastRetry    = 100 * time.Millisecond // of a role that could not be started, doubled up to
	mostRetry     = 10 * time.Second
	listenCheck   = 5 * time.Second
	shutdownGrace = 5 * time.Second // that a stopping server has for the requests in flight
)

// spec is what makes a role another one, so that it must be started anew.
type spec struct {
	mode    Mode
	timeout time.Duration // of a client
	listen  string        // of a server
}

// wish is what the settings demand of this machine.
type wish struct {
	spec
	assign   string // the server to ask; "" none
	idle     time.Duration
	settings Settings
}

// role is a role that was started.
type role interface {
	service() chain.TokenService
	update(wish) error
	// ready says whether the role may replace the one in force.
	ready() bool
	// phase says how it is doing.
	phase() (Phase, string)
	// watch mends what has broken by itself, and returns when to look again.
	watch(ctx context.Context) (again time.Duration, err error)
	// stop ends it when its calls in flight are answered, or at once when the context ends.
	stop(ctx context.Context) error
}

// clientRole asks a token server.
type clientRole struct {
	tokenClient
	timeout time.Duration
	server  string // set last; the loop's own
	started time.Time
	last    int // the connected count of the role before
}

func (r *clientRole) service() chain.TokenService {
	if r.last == 0 {
		return r.tokenClient
	}
	return remembering{r.tokenClient, r.last}
}

func (r *clientRole) update(w wish) error {
	if w.assign != r.server {
		r.server = w.assign
		r.SetServer(w.assign)
	}
	return nil
}

func (r *clientRole) ready() bool {
	return r.Status().State == client.StateReady || time.Since(r.started) >= connectGrace
}

func (r *clientRole) phase() (Phase, string) {
	s := r.Status()
	switch {
	case s.State == client.StateReady:
		return PhaseRunning, ""
	case s.Target == "":
		return PhaseStarting, "no token server is assigned"
	case s.State == client.StateLocal:
		return PhaseFailed, "the token server at " + s.Target + " does not answer"
	case s.LastError == "":
		return PhaseStarting, "connecting to " + s.Target
	}
	return PhaseFailed, s.LastError
}

func (r *clientRole) watch(context.Context) (time.Duration, error) { return never, nil }

func (r *clientRole) stop(ctx context.Context) error {
	wait(ctx, r.timeout)
	return r.Close()
}

// remembering is a client that knows the connected count of before until it has heard one itself.
type remembering struct {
	tokenClient
	last int
}

// Connected returns the client's count, or the one remembered while it has none.
func (r remembering) Connected() int {
	if n := r.tokenClient.Connected(); n > 0 {
		return n
	}
	return r.last
}

// serverRole is an embedded token server that listens at an address.
type serverRole struct {
	*embedded
	addr net.Addr
}

func (r *serverRole) service() chain.TokenService { return r.embedded.service.Local(r.own) }

func (r *serverRole) update(w wish) error {
	r.server.SetIdle(w.idle)
	return r.configure(w.settings)
}

func (r *serverRole) ready() bool { return true }

func (r *serverRole) phase() (Phase, string) {
	if why := r.deaf(); why != "" {
		return PhaseFailed, why
	}
	return PhaseRunning, ""
}

// deaf says why the server does not listen any more, "" while it does.
func (r *serverRole) deaf() string {
	for _, l := range r.server.Status().Listeners {
		if l.Address == r.addr.String() {
			return l.Error
		}
	}
	return "the token server does not listen on " + r.addr.String()
}

func (r *serverRole) watch(ctx context.Context) (time.Duration, error) {
	if r.deaf() == "" {
		return listenCheck, nil
	}
	_ = r.server.StopListening(r.addr) // an error says that it does not know it any more
	_, err := r.server.Listen(ctx, r.addr.String())
	return listenCheck, err
}

func (r *serverRole) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	return r.release(ctx, r.addr)
}

// start starts a role. The role before may lend it what outlives the change.
func (m *Member) start(ctx context.Context, w wish, before role) (role, error) {
	if w.mode == ModeClient {
		r := &clientRole{tokenClient: m.config.backend.client(m.namespace(), w.timeout), timeout: w.timeout, started: time.Now(), last: m.connected}
		_ = r.update(w) // of a client it cannot fail
		r.Start()
		return r, nil
	}
	if !m.config.certified() {
		return nil, errors.New("a token server with TLS needs a certificate, and this machine has none")
	}
	r := &serverRole{}
	if old, ok := before.(*serverRole); ok {
		r.embedded = old.use()
	} else {
		r.embedded = newEmbedded(m.engine, m.namespace(), &m.config)
	}
	err := r.update(w)
	if err == nil {
		r.addr, err = r.server.Listen(ctx, w.listen)
	}
	if err != nil {
		return nil, errors.Join(err, r.release(ctx, nil))
	}
	return r, nil
}

// wait waits, but not longer than the context lasts.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
