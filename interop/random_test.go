package interop_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// dice makes scripts of random requests. A seed makes the same script always.
type dice struct{ *rand.Rand }

func roll(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// randomScript makes a script of about forty requests over two windows and more. A plain one keeps to what our server
// decides alike without its compatible mode: windows of one second, no priority, no value twice in a request.
func randomScript(seed uint64, config string, plain bool) script {
	d := roll(seed)
	s := script{
		Doc: fmt.Sprintf("random script %d", seed), Plain: plain, Config: json.RawMessage(config),
		Clients: d.IntN(4), WindowMs: 2000,
	}
	for id := range 3 {
		s.FlowRules = append(s.FlowRules, d.rule(1+id, plain))
		r := d.rule(11+id, plain)
		r["paramFlowItemList"] = []map[string]any{d.item(plain), d.item(plain), d.item(plain)}
		s.ParamRules = append(s.ParamRules, r)
	}
	for at := int64(20); at < 2500; at += int64(100 * one(d, 0, 1, 2, 3, 7)) {
		for range 1 + d.IntN(4) {
			s.Steps = append(s.Steps, d.step(at, plain))
		}
	}
	return s
}

func (d dice) rule(id int, plain bool) map[string]any {
	window, buckets := 1000, one(d, 10, 5, 2, 1)
	if !plain {
		window = one(d, 1000, 1000, 2000, 500)
		buckets = one(d, window/100, 5, 1)
	}
	return map[string]any{
		"count": one(d, 0, 0.5, 1, 2, 2.5, 3, 5, 8, 13),
		"clusterConfig": map[string]any{
			"flowId": float64(id), "thresholdType": one(d, 0, 1, 1), "windowIntervalMs": window, "sampleCount": buckets,
		},
	}
}

func (d dice) step(at int64, plain bool) step {
	s := step{At: at, Count: one(d, 1, 1, 1, 1, 2, 3, 5)}
	if d.IntN(20) == 0 {
		s.Count = one(d, 0, -1, 2147483647)
	}
	if d.IntN(2) == 0 {
		s.Flow = one[int64](d, 1, 1, 1, 2, 2, 3, 4, 0)
		s.Prioritized = !plain && d.IntN(2) == 0
		return s
	}
	s.Param = one[int64](d, 11, 11, 11, 12, 12, 13, 14)
	for len(s.Values) == 0 || d.IntN(4) == 0 {
		if v := d.value(plain); !plain || !slices.Contains(s.Values, v) {
			s.Values = append(s.Values, v)
		}
	}
	return s
}

// value makes a value as TYPE:VALUE. In a plain script no number is of two types: without its compatible mode our server
// takes int 1 and long 1 for the same.
func (d dice) value(plain bool) string {
	kinds := []string{"int", "long", "byte", "short", "double", "float"}
	i := d.IntN(len(kinds) + 4)
	switch {
	case i == len(kinds):
		return one(d, "bool:true", "bool:false")
	case i > len(kinds):
		return "string:" + one(d, "a", "b", "1", "true")
	case plain:
		return fmt.Sprintf("%s:%d", kinds[i], 2*i+d.IntN(2))
	}
	return kinds[i] + ":" + one(d, "1", "2")
}

// item makes a threshold of a single value.
func (d dice) item(plain bool) map[string]any {
	kind, value, _ := strings.Cut(d.value(plain), ":")
	return map[string]any{"object": value, "count": d.IntN(6), "classType": or(map[string]string{"bool": "boolean"}[kind], kind)}
}

// randomScripts are the scripts of fixed seeds: with three configurations of the server, half of them plain.
func randomScripts() []script {
	configs := []string{`{}`, `{"maxAllowedQps":12,"exceedCount":1.3}`, `{"maxOccupyRatio":0.3,"exceedCount":0.8}`}
	var list []script
	for seed := range uint64(30) {
		list = append(list, randomScript(seed, configs[seed/10], seed%2 == 0))
	}
	return list
}

// The real token server and ours answer random requests alike.
func TestRandomScripts(t *testing.T) {
	java := startJavaServer(t)
	client := newPool(t, java.addr())
	warmUp(t, client)
	if err := client.open(30); err != nil {
		t.Fatal(err)
	}
	scripts := randomScripts()
	want := playAll(t, scripts, java, wallTime{}, client)
	for name, compatible := range map[string]bool{"compatible": true, "plain": false} {
		ours, tm := startOurServer(t, compatible)
		got := playAll(t, scripts, ours, tm, newPool(t, ours.addr()))
		for i, s := range scripts {
			if compatible || s.Plain {
				t.Run(name+"/"+s.Doc, func(t *testing.T) { s.compare(t, got[i], want[i]) })
			}
		}
	}
}
