package demo

import (
	"context"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/flow"
)

// What the instances of the cluster demonstration guard.
const (
	demoNamespace = "shop"
	demoResource  = "checkout"
	demoFlowID    = 1
)

// clusterRules are the rules that server and instances hold.
func clusterRules() []flow.Rule {
	return []flow.Rule{{
		ID: demoFlowID, Resource: demoResource, Count: clusterLimit, ClusterMode: true,
		ClusterConfig: &chain.ClusterConfig{FlowID: demoFlowID, ThresholdType: chain.ThresholdGlobal},
	}}
}

// clusterLoad is the traffic of an instance.
type clusterLoad struct {
	name  string
	every time.Duration
}

func clusterLoads() []clusterLoad {
	return []clusterLoad{{"a", time.Second / 60}, {"b", time.Second / 40}, {"c", time.Second / 25}}
}

// instance is one guarded service.
type instance struct {
	clusterLoad
	engine *tidegate.Engine
	client *client.Client
	calls  sync.WaitGroup

	mu   sync.Mutex
	sure map[int64]int64 // by second: passed calls that came and were answered within it; guarded by mu
}

// clusterRow is what an instance did in one second.
type clusterRow struct {
	instance        string
	passed, blocked int64
	sure            int64  // passed calls that came and were answered within the second
	decided         string // by whom, when the second was over: server or share
}

func newInstance(load clusterLoad, server string) (*instance, error) {
	i := &instance{clusterLoad: load, sure: map[int64]int64{}, client: client.New(
		client.WithNamespace(demoNamespace), client.WithServer(server), client.WithPingInterval(500*time.Millisecond),
		client.WithBackoff(50*time.Millisecond, time.Second),
	)}
	var err error
	if i.engine, err = tidegate.New(tidegate.WithAppName(demoNamespace), tidegate.WithTokenService(i.client)); err != nil {
		return nil, err
	}
	i.client.Start()
	_, err = i.engine.FlowRules().Load(clusterRules()...)
	return i, err
}

func (i *instance) close() {
	_ = i.client.Close() // the demonstration is over
	_ = i.engine.Close()
}

// start makes calls until ctx is done.
func (i *instance) start(ctx context.Context) {
	i.calls.Go(func() {
		ticker := time.NewTicker(i.every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				i.calls.Go(func() { i.call(ctx) })
			case <-ctx.Done():
				return
			}
		}
	})
}

func (i *instance) call(ctx context.Context) {
	came := time.Now().Unix()
	entry, err := i.engine.Enter(ctx, demoResource, tidegate.Call{})
	if err != nil {
		return // the engine counts it
	}
	if time.Now().Unix() == came {
		i.mu.Lock()
		i.sure[came]++
		i.mu.Unlock()
	}
	entry.Exit(nil)
}

func (i *instance) wait() { i.calls.Wait() }

func (i *instance) decidedByServer() bool { return i.client.Status().State == client.StateReady }

// read returns what happened in the second that begins at start and is over.
func (i *instance) read(start time.Time) clusterRow {
	r := clusterRow{instance: i.name, decided: "share"}
	if i.decidedByServer() {
		r.decided = "server"
	}
	for _, s := range i.engine.Seconds(demoResource, start) {
		if s.Time.Unix() == start.Unix() {
			r.passed, r.blocked = s.Pass, s.Block
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	r.sure = i.sure[start.Unix()]
	return r
}
