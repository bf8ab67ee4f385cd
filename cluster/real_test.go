package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/document"
)

// machine is an engine of the application "app" with its place in a cluster, over real sockets.
type machine struct {
	*tidegate.Engine
	member *cluster.Member
	loader *document.Loader
}

func newMachine(t *testing.T, identity string, opts ...cluster.Option) *machine {
	t.Helper()
	e, err := tidegate.New(tidegate.WithAppName("app"))
	if err != nil {
		t.Fatal(err)
	}
	m := cluster.New(e, append([]cluster.Option{cluster.WithIdentity(identity)}, opts...)...)
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return &machine{e, m, document.NewLoader(e, "rules", document.WithCluster(m))}
}

func (m *machine) update(t *testing.T, text string) {
	t.Helper()
	if err := m.loader.Update(t.Context(), []byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// reaches waits until the member is in that state.
func (m *machine) reaches(t *testing.T, mode cluster.Mode, phase cluster.Phase) cluster.Status {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s := m.member.Status()
		if s.Mode == mode && s.Phase == phase && (phase != cluster.PhaseRunning || s.InForce == mode) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %v %v (%s), want %v %v", m.member.Identity(), s.Mode, s.Phase, s.Reason, mode, phase)
		}
	}
}

// call makes a call of resource "r" and says whether it passed.
func (m *machine) call(t *testing.T) bool {
	t.Helper()
	entry, err := m.Enter(context.Background(), "r", tidegate.Call{})
	if err != nil {
		if !errors.Is(err, tidegate.ErrBlocked) {
			t.Error(err)
		}
		return false
	}
	entry.Exit(nil)
	return true
}

// freePort returns a port of the loopback address that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// text is a document with one rule of 30 calls in a minute for all together, and a map of servers s0, s1, ... at the
// ports, of which each has the clients named.
func text(count string, ports []int, clients ...string) string {
	groups := make([]string, len(ports))
	for i, port := range ports {
		groups[i] = fmt.Sprintf(`{"machineId":"s%d","ip":"127.0.0.1","port":%d,"clientSet":[%s]}`, i, port, clients[i])
	}
	return `{"flowRules":[{"resource":"r","count":` + count + `,"clusterMode":true,
		"clusterConfig":{"flowId":1,"thresholdType":1,"windowIntervalMs":60000,"fallbackPolicy":"block"}}],
		"cluster":{"map":[` + strings.Join(groups, ",") + `],"clientConfig":{"requestTimeout":30000}}}`
}

func TestOneLimitForThree(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]cluster.Option{"plaintext": nil, "secret": {cluster.WithSecret([]byte("a secret of the fleet"))}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ports := []int{freePort(t)}
			machines := []*machine{newMachine(t, "s0", opts...), newMachine(t, "c1", opts...), newMachine(t, "c2", opts...)}
			for _, m := range machines {
				m.update(t, text("0.5", ports, `"c1","c2"`))
			}
			machines[0].reaches(t, cluster.ModeServer, cluster.PhaseRunning)
			machines[1].reaches(t, cluster.ModeClient, cluster.PhaseRunning)
			machines[2].reaches(t, cluster.ModeClient, cluster.PhaseRunning)
			var passed atomic.Int64
			var wg sync.WaitGroup
			for _, m := range machines {
				for range 4 {
					wg.Go(func() {
						for range 10 {
							if m.call(t) {
								passed.Add(1)
							}
						}
					})
				}
			}
			wg.Wait()
			if n := passed.Load(); n != 30 {
				t.Errorf("%d of 120 calls passed, want 30", n)
			}
			if s := machines[0].member.Status(); len(s.Decisions.Flows) != 1 || s.Decisions.Namespaces[0].Connected != 3 {
				t.Errorf("%+v", s.Decisions)
			}
		})
	}
}

// Clients without the secret are not served.
func TestSecretsMustBeTheSame(t *testing.T) {
	t.Parallel()
	ports := []int{freePort(t)}
	s, c := newMachine(t, "s0", cluster.WithSecret([]byte("one secret"))), newMachine(t, "c", cluster.WithSecret([]byte("another secret")), cluster.WithListenHost("127.0.0.1"))
	s.update(t, text("0.5", ports, `"c"`))
	s.reaches(t, cluster.ModeServer, cluster.PhaseRunning)
	c.update(t, text("0.5", ports, `"c"`))
	if status := c.reaches(t, cluster.ModeClient, cluster.PhaseFailed); status.Reason == "" {
		t.Errorf("%+v", status)
	}
	if c.call(t) || !s.call(t) {
		t.Error("the client passed, or the server did not")
	}
}

func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, "s0")
	m.update(t, text("0.5", []int{l.Addr().(*net.TCPAddr).Port}, ""))
	if s := m.reaches(t, cluster.ModeServer, cluster.PhaseFailed); !strings.Contains(s.Reason, "in use") || s.InForce != cluster.ModeNone {
		t.Errorf("%+v", s)
	}
	if m.call(t) {
		t.Error("a server that does not run decides")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	m.reaches(t, cluster.ModeServer, cluster.PhaseRunning)
	if !m.call(t) {
		t.Error("the server does not decide")
	}
}

// A client that is moved to another server loses no call: there is always one that answers.
func TestMovingAClient(t *testing.T) {
	t.Parallel()
	ports := []int{freePort(t), freePort(t)}
	machines := []*machine{newMachine(t, "s0"), newMachine(t, "s1"), newMachine(t, "c")}
	at := []string{text("1e9", ports, `"c"`, ""), text("1e9", ports, "", `"c"`)}
	for i, m := range machines {
		m.update(t, at[0])
		m.reaches(t, []cluster.Mode{1, 1, 0}[i], cluster.PhaseRunning)
	}
	c := machines[2]
	var passed, lost atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				if c.call(t) {
					passed.Add(1)
				} else {
					lost.Add(1)
				}
			}
		})
	}
	for i := range 6 {
		c.update(t, at[(i+1)%2])
		want := fmt.Sprintf("127.0.0.1:%d", ports[(i+1)%2])
		for deadline := time.Now().Add(time.Minute); c.member.Status().Client.Server != want && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if s := c.member.Status().Client; s.Server != want {
			t.Errorf("asks %s, want %s", s.Server, want)
		}
		for before := passed.Load(); passed.Load() < before+10 && lost.Load() == 0; {
			time.Sleep(time.Millisecond)
		}
	}
	stop.Store(true)
	wg.Wait()
	if lost.Load() != 0 {
		t.Errorf("%d calls lost, %d passed: %+v", lost.Load(), passed.Load(), c.TokenCounters())
	}
}

// Two machines change roles again and again, a third one asks whichever serves, and calls go on everywhere: each ends
// within the request timeout, and in the end everybody is where the last document says.
func TestFlipsUnderLoad(t *testing.T) {
	t.Parallel()
	ports := []int{freePort(t), freePort(t)}
	machines := []*machine{newMachine(t, "s0"), newMachine(t, "s1"), newMachine(t, "c")}
	first := strings.Replace(text("1e9", ports[:1], `"s1","c"`), "30000}", "200}", 1)
	second := strings.Replace(strings.Replace(text("1e9", ports[1:], `"s0","c"`), "30000}", "200}", 1), `"machineId":"s0"`, `"machineId":"s1"`, 1)
	var stop atomic.Bool
	var slow atomic.Int64
	var wg sync.WaitGroup
	for _, m := range machines {
		for range 2 {
			wg.Go(func() {
				for !stop.Load() {
					began := time.Now()
					m.call(t)
					if took := time.Since(began); took > 5*time.Second {
						slow.Add(1)
					}
				}
			})
		}
	}
	for i := range 20 {
		for _, m := range machines {
			m.update(t, []string{first, second, `{"cluster":{"map":[]}}`}[i%3])
		}
		time.Sleep(time.Duration(i%5) * 10 * time.Millisecond) // moments that differ, proof of nothing
	}
	for _, m := range machines {
		m.update(t, second)
	}
	for i, m := range machines {
		m.reaches(t, []cluster.Mode{0, 1, 0}[i], cluster.PhaseRunning)
	}
	stop.Store(true)
	wg.Wait()
	if slow.Load() > 0 {
		t.Errorf("%d calls took longer than the request timeout by far", slow.Load())
	}
	for _, m := range machines {
		deadline := time.Now().Add(time.Minute) // the server takes so many requests of a namespace in a second and no more
		for !m.call(t) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: no call passes: %+v", m.member.Identity(), m.TokenCounters())
			}
			time.Sleep(time.Millisecond)
		}
	}
}
