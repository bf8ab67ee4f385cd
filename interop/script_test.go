package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// script is a list of requests with the rules they meet. The times of its steps count from the start of a window, so
// that the same buckets are hit in every run.
type script struct {
	Doc        string           `json:"doc"`
	Plain      bool             `json:"plain,omitempty"`    // decided alike by our server without its compatible mode
	Config     json.RawMessage  `json:"config,omitempty"`   // of the server: ServerFlowConfig; none means defaults
	Clients    int              `json:"clients,omitempty"`  // connections that have joined the namespace at the start
	WindowMs   int64            `json:"windowMs,omitempty"` // to start at a multiple of; 0 means 1000
	BucketMs   int64            `json:"bucketMs,omitempty"` // a step must be asked and answered within one; 0 means 100
	FlowRules  []map[string]any `json:"flowRules,omitempty"`
	ParamRules []map[string]any `json:"paramRules,omitempty"`
	Steps      []step           `json:"steps"`
}

// step is one request, or a connection that joins or leaves the namespace.
type step struct {
	At          int64    `json:"at"` // ms after the start; later than the step before, or the same
	Join        bool     `json:"join,omitempty"`
	Leave       bool     `json:"leave,omitempty"`
	Flow        int64    `json:"flow,omitempty"`  // flow id
	Param       int64    `json:"param,omitempty"` // flow id; with values
	Count       int      `json:"count"`
	Prioritized bool     `json:"prioritized,omitempty"`
	Values      []string `json:"values,omitempty"` // TYPE:VALUE
	Want        *answer  `json:"want,omitempty"`
}

func (s step) String() string {
	if len(s.Values) == 0 {
		return fmt.Sprintf("at %d ms: flow %d, %d units, prioritized %v", s.At, s.Flow, s.Count, s.Prioritized)
	}
	return fmt.Sprintf("at %d ms: param %d, %d units of %s", s.At, s.Param, s.Count, strings.Join(s.Values, " "))
}

// asker sends one request and returns the answer.
type asker interface {
	ask(s step, base int64) (answer, error)
}

// tokenServer is a running token server, ours or Java's.
type tokenServer interface {
	addr() string
	configure(config []byte) error // nil: defaults
	load(namespace string, flowRules, paramRules []byte) error
	connected(namespace string) (int, error)
}

// play plays scripts side by side, each under flow ids and in a namespace that no run before has used, until each has
// once kept to its buckets. It returns the answers of each script's steps that ask.
func play(t *testing.T, scripts []script, srv tokenServer, tm timer, client asker) [][]answer {
	t.Helper()
	answers := make([][]answer, len(scripts))
	for range attempts {
		useless := playRound(t, scripts, answers, srv, tm, client)
		if useless == 0 {
			return answers
		}
		t.Logf("%d of %d scripts prove nothing", useless, len(scripts))
	}
	t.Fatalf("%v, in %d runs: is the machine overloaded?", errUseless, attempts)
	return nil
}

const attempts = 12

// errUseless says that a run proves nothing.
var errUseless = errors.New("a step was not answered, or not within its bucket")

// playRound plays the scripts that have no answers yet and returns how many runs were useless.
func playRound(t *testing.T, scripts []script, answers [][]answer, srv tokenServer, tm timer, client asker) (useless int) {
	t.Helper()
	errs := make([]error, len(scripts))
	var wg sync.WaitGroup
	for i, s := range scripts {
		if answers[i] != nil {
			continue
		}
		base, g, err := s.prepare(srv)
		if err != nil {
			t.Fatal(err)
		}
		play := func() { answers[i], errs[i] = s.once(base, g, tm, client) }
		if _, made := tm.(*madeTime); made { // which goes for one script at a time
			play()
		} else {
			wg.Go(play)
		}
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case errors.Is(err, errUseless):
			useless++
		case err != nil:
			t.Fatalf("%s: %v", scripts[i].Doc, err)
		}
	}
	return useless
}

// prepare loads the rules and joins the namespace.
func (s script) prepare(srv tokenServer) (base int64, g *group, err error) {
	base, namespace := fresh()
	g = &group{srv: srv, namespace: namespace}
	if err := srv.load(namespace, rules(s.FlowRules, base), rules(s.ParamRules, base)); err != nil {
		return 0, nil, err
	}
	for range s.Clients {
		if err := g.join(); err != nil {
			return 0, nil, err
		}
	}
	return base, g, nil
}

// once plays the script once. Its answers are nil unless it kept to its buckets.
func (s script) once(base int64, g *group, tm timer, client asker) ([]answer, error) {
	defer g.close()
	start := tm.align(or(s.WindowMs, 1000))
	answers := make([]answer, 0, len(s.Steps))
	for i, st := range s.Steps {
		before := tm.until(start + st.At)
		a, err := s.step(st, base, g, client)
		if err != nil {
			return nil, fmt.Errorf("step %d, %v: %w", i, st, err)
		}
		if a.Status == statusFail { // which no script expects: the Java client has lost the answer
			return nil, errUseless
		}
		bucket := or(s.BucketMs, 100)
		if at := (start + st.At) / bucket; at != (before-1)/bucket || at != (tm.now()+1)/bucket {
			return nil, errUseless
		}
		if st.asks() {
			answers = append(answers, a)
		}
	}
	return answers, nil
}

func (s script) step(st step, base int64, g *group, client asker) (answer, error) {
	switch {
	case st.Join:
		return answer{}, g.join()
	case st.Leave:
		return answer{}, g.leave()
	}
	return client.ask(st, base)
}

func (s step) asks() bool { return !s.Join && !s.Leave }

// asking returns the steps that ask.
func (s script) asking() []*step {
	var list []*step
	for i := range s.Steps {
		if s.Steps[i].asks() {
			list = append(list, &s.Steps[i])
		}
	}
	return list
}

// want returns the answers that the script has stored.
func (s script) want() []answer {
	var list []answer
	for _, st := range s.asking() {
		list = append(list, *st.Want)
	}
	return list
}

// compare reports each answer that differs.
func (s script) compare(t *testing.T, got, want []answer) {
	t.Helper()
	for i, st := range s.asking() {
		if got[i] != want[i] {
			t.Errorf("step %d, %v: got %+v, want %+v", i, st, got[i], want[i])
		}
	}
}

// group is the connections of a script's namespace.
type group struct {
	srv       tokenServer
	namespace string
	members   []*conn
}

func (g *group) join() error {
	c, err := dial(g.srv.addr())
	if err != nil {
		return err
	}
	g.members = append(g.members, c)
	n, err := c.join(g.namespace)
	if err == nil && n != len(g.members) {
		err = fmt.Errorf("the server counts %d connections in the namespace, not %d", n, len(g.members))
	}
	return err
}

func (g *group) leave() error {
	last := len(g.members) - 1
	_ = g.members[last].Close()
	g.members = g.members[:last]
	return awaitConnected(g.srv, g.namespace, last)
}

func (g *group) close() {
	for _, c := range g.members {
		_ = c.Close()
	}
}

// runs counts the runs of scripts.
var runs atomic.Int64

// fresh returns a namespace, and a number to add to flow ids, that no run has had.
func fresh() (base int64, namespace string) {
	n := runs.Add(1)
	return n * 1_000_000, fmt.Sprintf("run-%d", n)
}

// flowID is the id of a run. Ids that are not valid stay so.
func flowID(id, base int64) int64 {
	if id <= 0 {
		return id
	}
	return base + id
}

// rules returns a script's rules with the flow ids of a run.
func rules(list []map[string]any, base int64) []byte {
	out := make([]map[string]any, len(list))
	for i, r := range list {
		out[i] = maps.Clone(r)
		cluster := maps.Clone(r["clusterConfig"].(map[string]any))
		cluster["flowId"] = flowID(int64(cluster["flowId"].(float64)), base)
		out[i]["clusterConfig"] = cluster
		out[i]["clusterMode"] = true
		out[i]["resource"] = fmt.Sprintf("resource-%d", i)
		if out[i]["paramIdx"] == nil {
			out[i]["paramIdx"] = 0
		}
	}
	return must(json.Marshal(out))
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
