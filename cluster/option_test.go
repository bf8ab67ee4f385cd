package cluster_test

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

func TestDefaultIdentity(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	ip, rest, _ := strings.Cut(m.member.Identity(), "@")
	if addr, err := netip.ParseAddr(ip); err != nil || addr.IsUnspecified() || rest != "8719" {
		t.Errorf("%q: %v", m.member.Identity(), err)
	}
}

// lockedBuffer takes what several goroutines log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Options of the parts reach them, and what is odd about rules is shown.
func TestOptionsOfTheParts(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	ports := []int{freePort(t)}
	s := newMachine(t, "s0", nil, cluster.WithLogger(nil), cluster.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), cluster.WithListenHost("127.0.0.1"),
		cluster.WithServiceOptions(token.WithCompatible()), cluster.WithServerOptions(server.WithMaxConns(10)))
	c := newMachine(t, "c", cluster.WithClientOptions(client.WithNamespace("another"), client.WithCoalescing(time.Millisecond)))
	for _, m := range []*machine{s, c} {
		m.update(t, text("0.5", ports, `"c"`))
	}
	rule := flow.Rule{Resource: "twice", Count: 1, ClusterMode: true, ClusterConfig: &flow.ClusterConfig{FlowID: 1}}
	if err := s.member.Apply(cluster.Settings{ServerRules: map[string]cluster.Rules{"app": {Flow: []flow.Rule{rule, rule}}}}); err != nil {
		t.Error(err)
	}
	c.reaches(t, cluster.ModeClient, cluster.PhaseRunning)
	status := s.reaches(t, cluster.ModeServer, cluster.PhaseRunning)
	for deadline := time.Now().Add(time.Minute); len(status.Warnings) == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		status = s.member.Status()
	}
	if !status.Decisions.Compatible || len(status.Warnings) != 1 || !strings.Contains(status.Warnings[0], "namespace app: flow[0] twice: duplicate") {
		t.Errorf("%+v", status)
	}
	if got := c.member.Status().Client.Namespace; got != "another" {
		t.Errorf("namespace %q", got)
	}
	if !strings.Contains(log.String(), "The cluster role has changed.") {
		t.Errorf("%s", log.String())
	}
}
