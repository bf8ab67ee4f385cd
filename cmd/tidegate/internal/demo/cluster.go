package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// The limit that the instances of the cluster share, in calls per second.
const clusterLimit = 60

// RunCluster shows a token server and three instances that share one limit over sockets. In the middle the server is
// killed and comes back. It ends early when ctx does. The error says what could not be set up, or that the limit did
// not hold.
func RunCluster(ctx context.Context, o Options) error {
	c := &cluster{options: o, service: token.New()}
	defer c.close()
	if err := c.setUp(ctx); err != nil {
		return fmt.Errorf("setting up the demonstration: %w", err)
	}
	c.play(ctx)
	return c.summarize(o.Out)
}

// cluster is the token server with its instances.
type cluster struct {
	options   Options
	service   *token.Service
	server    *server.Server // nil while it is dead
	address   string
	instances []*instance
	events    []event
	seconds   []clusterSecond
	killed    time.Time
	back      time.Time
	recovered time.Time // when all instances had the server decide again
}

// clusterSecond is what happened in one second.
type clusterSecond struct {
	start time.Time
	rows  []clusterRow
}

// sum returns what passed in all instances.
func (s clusterSecond) sum() (passed, blocked int64) {
	for _, r := range s.rows {
		passed += r.passed
		blocked += r.blocked
	}
	return passed, blocked
}

// sure returns what certainly passed within the second, in all instances.
func (s clusterSecond) sure() (passed int64) {
	for _, r := range s.rows {
		passed += r.sure
	}
	return passed
}

// setUp starts the token server and the instances, and waits until they know of each other.
func (c *cluster) setUp(ctx context.Context) error {
	if report := c.service.LoadFlow(demoNamespace, clusterRules()); report.Err() != nil {
		return report.Err()
	}
	if err := c.startServer(ctx, "127.0.0.1:0"); err != nil {
		return err
	}
	for _, load := range clusterLoads() {
		i, err := newInstance(load, c.address)
		if err != nil {
			return err
		}
		c.instances = append(c.instances, i)
	}
	for !c.all(func(i *instance) bool { return i.client.Connected() == len(c.instances) }) {
		if !pause(ctx, 10*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func (c *cluster) startServer(ctx context.Context, address string) error {
	s := server.New(c.service)
	addr, err := s.Listen(ctx, address)
	if err != nil {
		return err
	}
	c.server, c.address = s, addr.String()
	return nil
}

func (c *cluster) all(is func(*instance) bool) bool {
	return !slices.ContainsFunc(c.instances, func(i *instance) bool { return !is(i) })
}

func (c *cluster) close() {
	for _, i := range c.instances {
		i.close()
	}
	if c.server != nil {
		_ = c.server.Close() // its clients are gone
	}
}

// play generates load from the next whole second on, kills the server and starts it again, and shows each second when
// it is over.
func (c *cluster) play(ctx context.Context) {
	start := time.Now().Truncate(time.Second).Add(time.Second)
	if !pause(ctx, time.Until(start)) {
		return
	}
	loaded, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, i := range c.instances {
		i.start(loaded)
	}
	kill, restart := outage(c.options.Seconds)
	steps := []clusterStep{{start.Add(kill), c.kill}, {start.Add(restart), c.restart}}
	view := c.view()
	for n := range c.options.Seconds {
		second := start.Add(time.Duration(n) * time.Second)
		if steps = c.act(ctx, steps, second.Add(time.Second)); ctx.Err() != nil {
			break
		}
		if n == c.options.Seconds-1 {
			cancel()
		}
		if !pause(ctx, time.Until(second.Add(time.Second+settle))) {
			break
		}
		c.see(second)
		view(c)
	}
	cancel()
	for _, i := range c.instances {
		i.wait()
	}
}

// outage says when after the start the server is killed and comes back: in different seconds, so that the table shows
// the shares, and in their midst, so that their lines tell what came of it.
func outage(seconds int) (kill, restart time.Duration) {
	const midst = 300 * time.Millisecond
	down := seconds * 2 / 5
	up := max(seconds*3/5, down+1)
	return time.Duration(down)*time.Second + midst, time.Duration(min(up, seconds-1))*time.Second + midst
}

// clusterStep is something to do at a time.
type clusterStep struct {
	at time.Time
	do func(ctx context.Context)
}

// act does the steps that are due until then and returns those left.
func (c *cluster) act(ctx context.Context, steps []clusterStep, until time.Time) []clusterStep {
	for {
		c.watchRecovery()
		now := time.Now()
		if len(steps) > 0 && !steps[0].at.After(now) {
			steps[0].do(ctx)
			steps = steps[1:]
			continue
		}
		if !now.Before(until) || !pause(ctx, min(20*time.Millisecond, time.Until(until))) {
			return steps
		}
	}
}

func (c *cluster) kill(context.Context) {
	_ = c.server.Close() // connections are cut, as by a crash
	c.server, c.killed = nil, time.Now()
	c.note("the token server is killed")
}

func (c *cluster) restart(ctx context.Context) {
	c.service = token.New()
	c.service.LoadFlow(demoNamespace, clusterRules()) // they were loaded before
	if err := c.startServer(ctx, c.address); err != nil {
		c.note("the token server cannot come back: " + err.Error())
		return
	}
	c.back = time.Now()
	c.note("the token server is back")
}

// watchRecovery notes when the server decides for all instances again.
func (c *cluster) watchRecovery() {
	if c.back.IsZero() || !c.recovered.IsZero() || !c.all((*instance).decidedByServer) {
		return
	}
	c.recovered = time.Now()
	c.note(fmt.Sprintf("all instances are with the server again, %v after its return", c.recovered.Sub(c.back).Round(time.Millisecond)))
}

func (c *cluster) note(text string) { c.events = append(c.events, event{time.Now(), text}) }

// see keeps what happened in a second that is over.
func (c *cluster) see(second time.Time) {
	s := clusterSecond{start: second}
	for _, i := range c.instances {
		s.rows = append(s.rows, i.read(second))
	}
	c.seconds = append(c.seconds, s)
}

// pause waits; false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
