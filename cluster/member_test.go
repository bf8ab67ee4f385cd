package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/flow"
)

// mapText is a map of two servers, a at port 1 and b at port 2, and the machine "me" as a client of the one named.
func mapText(server string) string {
	sets := map[string]string{"a": "", "b": ""}
	sets[server] = `"me"`
	return `{"map":[{"machineId":"a","ip":"a","port":1,"clientSet":[` + sets["a"] + `]},{"machineId":"b","ip":"b","port":2,"clientSet":[` + sets["b"] + `]}]}`
}

const serverMap = `{"map":[{"machineId":"me","ip":"me","port":5,"clientSet":["a"]}]}`

func TestWithoutSettingsThereIsNoRole(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		after(time.Hour * 3)
		s := p.is(t, cluster.ModeNone, cluster.PhaseIdle, cluster.ModeNone)
		if !s.LastModified.IsZero() || s.Document.Present || s.Namespace != "app" || s.Identity != "me" || p.Identity() != "me" {
			t.Errorf("%+v", s)
		}
		p.did(t)
	})
}

func TestClientOfMap(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["a:1"], p.up["b:2"] = true, true
		p.apply(t, mapText("a"))
		s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		if s.Assignment != "a:1" || s.Client == nil || s.LastModified.IsZero() || !s.Document.Present {
			t.Errorf("%+v", s)
		}
		p.did(t, "client 20ms", `ask "a:1"`)
		p.apply(t, mapText("b")) // the same client asks another server
		p.did(t, `ask "b:2"`)
		p.apply(t, strings.Replace(mapText("b"), "{", `{"clientConfig":{"requestTimeout":50},`, 1)) // a new one
		p.did(t)
		after(cluster.SwitchPause)
		p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		p.did(t, "client 50ms", `ask "b:2"`)
		after(20 * time.Millisecond)
		p.did(t, "client closed") // when the last call that it got has timed out
		p.apply(t, `{"map":[]}`)
		p.is(t, cluster.ModeNone, cluster.PhaseStopping, cluster.ModeNone)
		if p.host.service() != nil {
			t.Error("a service is asked without a role")
		}
		after(50 * time.Millisecond)
		p.is(t, cluster.ModeNone, cluster.PhaseIdle, cluster.ModeNone)
		p.did(t, "client closed")
	})
}

// A client that cannot connect is in force all the same where there is nothing else: calls follow their fallback.
func TestClientWithoutServer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.apply(t, `{"mode":0}`)
		if s := p.is(t, cluster.ModeClient, cluster.PhaseStarting, cluster.ModeClient); s.Reason != "no token server is assigned" {
			t.Errorf("%q", s.Reason)
		}
		p.apply(t, `{"assign":{"serverHost":"a","serverPort":1}}`) // the mode stays
		if s := p.is(t, cluster.ModeClient, cluster.PhaseFailed, cluster.ModeClient); s.Reason != "refused" || s.Assignment != "a:1" {
			t.Errorf("%+v", s)
		}
		since := p.Status().Since
		p.with(func() { p.up["a:1"] = true })
		after(time.Second)
		if s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient); s.Reason != "" || !s.Since.After(since) {
			t.Errorf("%+v", s)
		}
	})
}

func TestEmbeddedServer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		load(t, p, 1)
		p.apply(t, serverMap)
		s := p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer)
		if s.Listen != "h:5" || s.Server == nil || s.Decisions == nil || len(s.Warnings) > 0 {
			t.Errorf("%+v", s)
		}
		p.did(t, "listen h:5")
		if got := p.host.ask(1); got != chain.TokenOK {
			t.Errorf("its own rule: %v", got)
		}
		if got := p.host.service().Connected(); got != 1 {
			t.Errorf("%d connected, want the host alone", got)
		}
		load(t, p, 2) // the server follows
		if one, two := p.host.ask(1), p.host.ask(2); one != chain.TokenNoRule || two != chain.TokenOK {
			t.Errorf("after a change of the rules: %v, %v", one, two)
		}
		p.apply(t, strings.Replace(serverMap, ":5", ":6", 1)) // connections stay, and so does what was counted
		after(cluster.SwitchPause)
		if s := p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer); s.Listen != "h:6" {
			t.Errorf("%+v", s)
		}
		p.did(t, "listen h:6", "stop listening h:5")
		if got := p.host.ask(2); got != chain.TokenOK {
			t.Errorf("on another port: %v", got)
		}
	})
}

func load(t *testing.T, p *place, id int64) {
	t.Helper()
	rules := []flow.Rule{
		{Resource: "r", Count: 10, ClusterMode: true, ClusterConfig: &flow.ClusterConfig{FlowID: id}},
		{Resource: "local", Count: 10},
	}
	if _, err := p.engine.FlowRules().Load(rules...); err != nil {
		t.Error(err)
	}
}

// A port that is taken is seen, tried again, and the role before goes on meanwhile.
func TestServerThatCannotListen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["a:1"], p.taken["h:5"] = true, true
		p.apply(t, mapText("a"))
		after(cluster.SwitchPause)
		p.done()
		p.apply(t, serverMap)
		if s := p.is(t, cluster.ModeServer, cluster.PhaseFailed, cluster.ModeClient); s.Reason != "address in use: h:5" || s.Listen != "" || s.Client == nil {
			t.Errorf("%+v", s)
		}
		if got := p.host.ask(1); got != chain.TokenOK {
			t.Errorf("the client before: %v", got)
		}
		p.did(t, "cannot listen h:5", "server closed")
		after(cluster.LeastRetry)
		p.did(t, "cannot listen h:5", "server closed")
		after(time.Minute)
		if attempts := len(p.done()) / 2; attempts < 6 || attempts > 12 {
			t.Errorf("%d attempts in a minute", attempts)
		}
		p.with(func() { delete(p.taken, "h:5") })
		after(cluster.MostRetry)
		p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer)
		p.did(t, "listen h:5", "client closed")
		p.with(func() { p.taken["h:6"] = true })
		p.apply(t, strings.Replace(serverMap, ":5", ":6", 1))
		if s := p.is(t, cluster.ModeServer, cluster.PhaseFailed, cluster.ModeServer); s.Listen != "h:5" {
			t.Errorf("%+v", s)
		}
		p.apply(t, serverMap) // taken back
		p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer)
		p.did(t, "cannot listen h:6")
	})
}

// A listener that ends by itself is seen and opened again.
func TestServerThatStopsListening(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.apply(t, serverMap)
		p.done()
		p.with(func() { p.taken["h:5"] = true })
		if s := p.is(t, cluster.ModeServer, cluster.PhaseFailed, cluster.ModeServer); s.Reason != "listener died" {
			t.Errorf("%+v", s)
		}
		after(time.Minute)
		if s := p.is(t, cluster.ModeServer, cluster.PhaseFailed, cluster.ModeServer); s.Reason != "the token server does not listen on h:5" {
			t.Errorf("%+v", s)
		}
		p.with(func() { delete(p.taken, "h:5") })
		after(time.Minute)
		p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer)
		if log := p.done(); log[len(log)-1] != "listen h:5" {
			t.Errorf("%q", log)
		}
	})
}

// A server serves on until the client that follows has a connection, but not forever.
func TestServerBecomesClient(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		load(t, p, 1)
		p.apply(t, serverMap)
		after(cluster.SwitchPause)
		p.done()
		p.apply(t, mapText("a"))
		p.is(t, cluster.ModeClient, cluster.PhaseFailed, cluster.ModeServer)
		p.did(t, "client 20ms", `ask "a:1"`)
		after(cluster.ConnectGrace / 2)
		if got := p.host.ask(1); got != chain.TokenOK {
			t.Errorf("the server before: %v", got)
		}
		p.with(func() { p.up["a:1"] = true })
		after(100 * time.Millisecond)
		p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		p.did(t, "server closed")
		if n := p.host.service().Connected(); n != 7 {
			t.Errorf("%d connected", n)
		}

		p.apply(t, serverMap)
		p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer)
		p.with(func() { p.up["b:2"] = false })
		p.apply(t, mapText("b"))
		after(cluster.ConnectGrace + cluster.SwitchPause)
		p.is(t, cluster.ModeClient, cluster.PhaseFailed, cluster.ModeClient)
		if n := p.host.service().Connected(); n != 1 {
			t.Errorf("%d connected; the server before knew of the host", n)
		}
	})
}

func TestLosingTheDocumentChangesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.DocumentLost() // there never was one
		p.up["a:1"] = true
		p.apply(t, mapText("a"))
		p.done()
		p.DocumentLost()
		lost := time.Now()
		after(time.Minute)
		s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		if s.Document.Present || !s.Document.LostSince.Equal(lost) || s.Assignment != "a:1" {
			t.Errorf("%+v", s.Document)
		}
		p.DocumentLost() // still lost since then
		p.apply(t, `{"clientConfig":{"requestTimeout":20}}`)
		if s = p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient); !s.Document.Present || !s.Document.LostSince.IsZero() || s.Assignment != "a:1" {
			t.Errorf("%+v", s)
		}
		p.did(t)
		p.apply(t, `{"mode":0}`) // says the same without a map: the assignment stays
		if s = p.Status(); s.Assignment != "a:1" {
			t.Errorf("%+v", s)
		}
		p.apply(t, `{"mode":-1}`)
		p.is(t, cluster.ModeNone, cluster.PhaseStopping, cluster.ModeNone)
	})
}

// What is wrong with settings stays as it was.
func TestBrokenPartsStay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["a:1"] = true
		p.apply(t, strings.Replace(mapText("a"), "{", `{"clientConfig":{"requestTimeout":30},`, 1))
		p.done()
		for _, text := range []string{
			`{"map":{},"mode":-1,"clientConfig":{"requestTimeout":0}}`, `{"map":[{"machineId":"a"}],"clientConfig":5}`,
			`{"mode":7,"assign":{"serverHost":""},"clientConfig":{}}`, `[]`, `x`,
		} {
			if _, err := p.ApplyDocument([]byte(text)); err == nil {
				t.Errorf("%s: no error", text)
			}
			synctest.Wait()
			if s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient); s.Assignment != "a:1" {
				t.Errorf("%s: %+v", text, s)
			}
		}
		after(time.Second)
		p.did(t)
		wrong := cluster.Settings{
			Map: []cluster.Group{{}}, Mode: new(cluster.Mode), Assign: &cluster.Assign{}, ClientConfig: &cluster.ClientConfig{},
			Transport: &cluster.Transport{Port: -1}, ServerFlow: &cluster.FlowConfig{}, NamespaceSet: []string{""},
		}
		*wrong.Mode = 9
		err := p.Apply(wrong)
		for _, member := range []string{"map[0].machineId", "mode", "assign.serverHost", "clientConfig.requestTimeout", "transport.port", "serverFlow.intervalMs", "namespaceSet[0]"} {
			if err == nil || !strings.Contains(err.Error(), member+": ") {
				t.Errorf("%s is not in %v", member, err)
			}
		}
		after(time.Second)
		p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		p.did(t)
	})
}

// Wishes that come faster than roles can follow do not queue: the last one wins, and nobody waits.
func TestRapidFlips(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["a:1"] = true
		load(t, p, 1)
		p.apply(t, serverMap)
		began := time.Now()
		for i := range 1000 {
			p.apply(t, []string{mapText("a"), serverMap, `{"map":[]}`, `{"mode":0,"assign":{"serverHost":"a","serverPort":1}}`}[i%4])
			if s := p.host.service(); s != nil && p.host.ask(1) != chain.TokenOK {
				t.Error("a role that does not run is asked")
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the callers waited %v", took)
		}
		after(time.Minute)
		p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient)
		if n := len(p.done()); n > 20 {
			t.Errorf("%d things done", n)
		}
	})
}

func TestByHand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["a:1"], p.up["c:18730"] = true, true
		p.apply(t, mapText("a"))
		if err := p.SetAssign(cluster.Assign{ServerHost: "c"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient); s.Assignment != "c:18730" {
			t.Errorf("%+v", s)
		}
		if err := p.SetMode(cluster.ModeServer); err != nil {
			t.Error(err)
		}
		after(cluster.SwitchPause)
		if s := p.is(t, cluster.ModeServer, cluster.PhaseRunning, cluster.ModeServer); s.Listen != "h:18730" {
			t.Errorf("%+v", s)
		}
		if p.SetMode(5) == nil || p.SetAssign(cluster.Assign{}) == nil {
			t.Error("nonsense is taken")
		}
		p.apply(t, mapText("a"))
		after(cluster.SwitchPause + time.Second)
		if s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient); s.Assignment != "a:1" {
			t.Errorf("%+v", s)
		}
	})
}

// Sentinel's documents, each from a source of its own, in the order of its demos.
func TestSeparateDocuments(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.up["112.12.88.68:11111"] = true
		for _, doc := range []struct {
			part cluster.Part
			text string
		}{
			{cluster.PartClient, `{"requestTimeout":40}`},
			{cluster.PartAssign, `{"serverHost":"x"}`},
			{cluster.PartTransport, `{"port":1}`},
			{cluster.PartFlow, `{"maxAllowedQps":3}`},
			{cluster.PartNamespaces, `["a"]`},
			{cluster.PartMap, strings.Replace(exampleMap, "112.12.88.66@8729", "me", 1)},
		} {
			if err := p.Handler(doc.part).Update(t.Context(), []byte(doc.text)); err != nil {
				t.Errorf("%v: %v", doc.part, err)
			}
			synctest.Wait()
		}
		p.did(t, "client 40ms", `ask "112.12.88.68:11111"`)
		for _, part := range cluster.Parts() {
			h := p.Handler(part)
			if h.Update(t.Context(), []byte(`5`)) == nil {
				t.Errorf("%v: nonsense is taken", part)
			}
			if err := h.Deleted(t.Context()); err != nil {
				t.Errorf("%v: %v", part, err)
			}
		}
		if s := p.is(t, cluster.ModeClient, cluster.PhaseRunning, cluster.ModeClient); s.Document.Present || s.Document.LostSince.IsZero() {
			t.Errorf("%+v", s.Document)
		}
		if p.Handler(cluster.Part(77)).Update(t.Context(), nil) == nil {
			t.Error("a part that does not exist is taken")
		}
		if err := p.Handler(cluster.PartMap).Update(t.Context(), []byte(`[]`)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		p.is(t, cluster.ModeNone, cluster.PhaseStopping, cluster.ModeNone)
	})
}

// A server serves its own namespace from the engine's rules, unless the settings have some for it, and the others that
// the set names.
func TestNamespacesServed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		load(t, p, 1)
		rule := func(id string) string {
			return `{"flowRules":[{"resource":"r","count":5,"clusterMode":true,"clusterConfig":{"flowId":` + id + `}}]}`
		}
		served := func(want ...string) {
			t.Helper()
			got := []string{}
			for _, flow := range p.Status().Decisions.Flows {
				got = append(got, flow.Namespace)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("serves %q, want %q", got, want)
			}
		}
		p.apply(t, `{"mode":1,"serverRules":{"b":`+rule("2")+`,"c":`+rule("3")+`}}`)
		served("app", "b", "c")
		p.apply(t, `{"mode":1,"namespaceSet":["b"],"serverRules":{"b":`+rule("2")+`,"c":`+rule("3")+`,"default":`+rule("4")+`,"app":`+rule("5")+`}}`)
		served("app", "b", "default")
		if one, five := p.host.ask(1), p.host.ask(5); one != chain.TokenNoRule || five != chain.TokenOK {
			t.Errorf("%v, %v", one, five)
		}
		p.apply(t, `{"mode":1}`)
		served("app")
		if one := p.host.ask(1); one != chain.TokenOK {
			t.Errorf("%v", one)
		}
		if _, err := p.ApplyDocument([]byte(`{"serverRules":{"b":` + rule("2") + `}}`)); err != nil {
			t.Error(err)
		}
		if _, err := p.ApplyDocument([]byte(`{"serverRules":{"b":{"flowRules":[{"resource":""}],"paramFlowRules":5}}}`)); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		served("app", "b") // the last good rules
		if _, err := p.ApplyDocument([]byte(`{"serverRules":[]}`)); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		served("app", "b")
	})
}

func TestClosedAndUnmade(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *place) {
		p.apply(t, serverMap)
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		p.is(t, cluster.ModeNone, cluster.PhaseIdle, cluster.ModeNone)
		if p.Apply(cluster.Settings{}) == nil {
			t.Error("a closed member takes settings")
		}
	})
	for _, m := range []*cluster.Member{nil, {}} {
		m.DocumentLost()
		if _, err := m.ApplyDocument([]byte(serverMap)); err == nil || m.Apply(cluster.Settings{}) == nil || m.SetMode(0) == nil || m.SetAssign(cluster.Assign{ServerHost: "h"}) == nil {
			t.Error("settings are taken")
		}
		if s := m.Status(); m.Close() != nil || m.Identity() != "" || s.Mode != cluster.ModeNone {
			t.Errorf("%+v", s)
		}
		if h := m.Handler(cluster.PartMap); h.Update(t.Context(), []byte(`[]`)) == nil || h.Deleted(t.Context()) != nil {
			t.Error("a handler without member takes settings")
		}
	}
}
