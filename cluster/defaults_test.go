package cluster_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/cluster"
)

// What a document says goes before the defaults, part by part, and what it does not speak of they say.
func TestDefaultsGiveWay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["h:7"], p.up["a:1"], p.up["x:9"] = true, true, true
		mode := cluster.ModeClient
		defaults := cluster.Settings{
			Mode: &mode, Assign: &cluster.Assign{ServerHost: "h", ServerPort: 7}, ClientConfig: &cluster.ClientConfig{RequestTimeout: 50},
		}
		if err := p.SetDefaults(defaults); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		if s.Assignment != "h:7" || s.Document.Present {
			t.Errorf("%+v", s)
		}
		p.did(t, "client 50ms", `ask "h:7"`)
		p.apply(t, mapText("a"))
		p.did(t, `ask "a:1"`)
		p.DocumentLost() // changes nothing
		p.apply(t, `{"clientConfig":{"requestTimeout":50}}`)
		p.did(t)
		p.apply(t, `{"mode":0,"assign":{"serverHost":"x","serverPort":9}}`)
		p.did(t, `ask "x:9"`)
		p.apply(t, `{"mode":-1}`)
		p.is(t, cluster.ModeNone, cluster.PhaseStopping, cluster.ModeNone)
		after(time.Second)
		p.did(t, "client closed")
	})
}

func TestWrongDefaultsAreRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		mode := cluster.ModeClient
		err := p.SetDefaults(cluster.Settings{Mode: &mode, ClientConfig: &cluster.ClientConfig{}})
		if err == nil || !strings.Contains(err.Error(), "clientConfig.requestTimeout") {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		p.is(t, cluster.ModeNone, cluster.PhaseIdle, cluster.ModeNone)
		p.did(t)
	})
	if err := (*cluster.Member)(nil).SetDefaults(cluster.Settings{}); err == nil {
		t.Error("nobody took defaults")
	}
}

func TestNamespaceOfMember(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "s0", cluster.WithNamespace(" fleet "))
	m.update(t, text("0.5", []int{freePort(t)}, ""))
	s := m.reaches(t, cluster.ModeServer, cluster.PhaseRunning)
	if s.Namespace != "fleet" || len(s.Decisions.Flows) != 1 || s.Decisions.Flows[0].Namespace != "fleet" {
		t.Errorf("%+v", s)
	}
}

func TestServerWithoutCertificate(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "s0", cluster.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
	m.update(t, text("0.5", []int{freePort(t)}, ""))
	if s := m.reaches(t, cluster.ModeServer, cluster.PhaseFailed); !strings.Contains(s.Reason, "needs a certificate") {
		t.Errorf("%+v", s)
	}
}
