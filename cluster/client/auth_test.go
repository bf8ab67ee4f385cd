package client_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func TestSecret(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server, client string
		sentinel       bool
		unproven       bool
		want           error
	}{
		"same":                         {server: "s", client: "s"},
		"wrong":                        {server: "s", client: "x", want: client.ErrUnauthenticated},
		"client has none":              {server: "s", want: client.ErrUnauthenticated},
		"server has none":              {client: "s", want: client.ErrUnauthenticated},
		"server has none, allowed":     {client: "s", unproven: true},
		"Sentinel's":                   {client: "s", sentinel: true, want: client.ErrUnauthenticated},
		"Sentinel's, allowed":          {client: "s", sentinel: true, unproven: true},
		"wrong, without proof allowed": {server: "s", client: "x", unproven: true, want: client.ErrUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{ext: !c.sentinel, secret: []byte(c.server), connected: 2}
				opts := []client.Option{client.WithSecret([]byte(c.client))}
				if c.unproven {
					opts = append(opts, client.WithUnprovenServer())
				}
				cl := dialed(t, f, opts...)
				err := cl.Ready(t.Context())
				wantStatus(t, chain.TokenResult{Err: err}, chain.TokenOK, c.want)
				if c.want == nil {
					wantStatus(t, ask(cl), chain.TokenOK, nil)
					if cl.Connected() != 2 {
						t.Errorf("%d connected", cl.Connected())
					}
					return
				}
				wantStatus(t, ask(cl), chain.TokenFail, c.want)
				if flows, _ := f.peer(0).requests(wire.TypeFlow); len(flows) > 0 {
					t.Error("asked a server that is not trusted")
				}
			})
		})
	}
}

func TestPeerThatIsNoTokenServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{"SSH-2.0-OpenSSH_9.6\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x00\x01\x00", ""} {
			c := client.New(client.WithServer("a:1"), client.WithDialer(talker(text)))
			c.Start()
			if err := c.Ready(t.Context()); err == nil {
				t.Errorf("%q: ready", text)
			}
			time.Sleep(time.Minute)
			wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestConcurrencyTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var delay atomic.Int64
		f := &fake{ext: true}
		f.flow = func(p *peer, r *wire.Request) {
			time.Sleep(time.Duration(delay.Load()))
			p.reply(&wire.Response{XID: r.XID, Type: r.Type, TokenID: 40 + r.FlowID, Remaining: 3, Status: released(r)})
		}
		c := ready(t, f)
		r := c.AcquireConcurrent(t.Context(), 2, 1)
		if r.Status != chain.TokenOK || r.TokenID != 42 || r.Remaining != 3 {
			t.Errorf("%+v", r)
		}
		time.Sleep(2250 * time.Millisecond)
		if got, at := f.peer(0).requests(wire.TypeRenew); len(got) != 5 {
			t.Errorf("renewed at %v", at)
		}
		c.ReleaseConcurrent(42)
		time.Sleep(5 * time.Second)
		if got, _ := f.peer(0).requests(wire.TypeRenew); len(got) != 5 {
			t.Errorf("%d renewals after the release", len(got))
		}
		delay.Store(int64(25 * time.Millisecond))
		wantStatus(t, c.AcquireConcurrent(t.Context(), 3, 1), chain.TokenFail, client.ErrTimeout)
		time.Sleep(time.Second)
		got, _ := f.peer(0).requests(wire.TypeRelease)
		if len(got) != 2 || got[0].TokenID != 42 || got[1].TokenID != 43 { // the late one is given back
			t.Errorf("released %+v", got)
		}
		if s := c.Status(); s.Held != 0 || s.InFlight != 0 || s.Counters.Answers["release_ok"] != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func released(r *wire.Request) chain.TokenStatus {
	if r.Type == wire.TypeRelease {
		return chain.TokenReleased
	}
	return chain.TokenOK
}
