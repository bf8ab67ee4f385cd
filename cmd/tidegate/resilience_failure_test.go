//go:build linux

package main

import (
	"syscall"
	"testing"
	"time"
)

// fault is something that happens to the token server of a fleet under load.
type fault struct {
	begin func()
	end   func() (returned time.Time) // when the server was back
}

// What a fleet is promised when its server fails. To the times comes what the busy machine costs.
const (
	slowestCall = 25 * time.Millisecond // of 999 in 1000
	localCall   = time.Millisecond      // of 99 in 100, once the server is known to be away
	comesBack   = 5 * time.Second       // until the server decides again
)

// passage is how a fleet lived through a fault.
type passage struct {
	*fleet
	started, failed, settled, returned, over time.Time
	noticed, back                            time.Duration
}

// suffer has a fleet live through a fault.
func (f *fleet) suffer(away time.Duration, fault fault) *passage {
	f.t.Helper()
	f.load()
	p := &passage{fleet: f, started: time.Now()}
	used := f.used()
	time.Sleep(1200 * time.Millisecond) // more than a window
	f.t.Logf("load: %.2f cores", (f.used()-used).Seconds()/time.Since(p.started).Seconds())
	p.failed = time.Now()
	fault.begin()
	p.noticed = f.until("all decide locally", alone)
	p.settled = time.Now().Add(10 * time.Millisecond) // calls that had begun before are over
	time.Sleep(away)
	p.returned = fault.end()
	f.until("the server decides for all", ready)
	p.back = time.Since(p.returned)
	time.Sleep(1200 * time.Millisecond)
	f.quit()
	p.over = time.Now()
	return p
}

// judge checks the promises.
func (p *passage) judge() {
	p.t.Helper()
	p.judgeTimes()
	p.judgeSums()
}

func (p *passage) judgeTimes() {
	p.t.Helper()
	all, local := p.between(p.started, p.over), p.between(p.settled, p.returned)
	_, worst := p.yardstick.between(p.started, p.over, 1)
	usual, _ := p.yardstick.between(p.settled, p.returned, 0.99)
	slow, fast := quantile(all, 0.999), quantile(local, 0.99)
	p.t.Logf("machine: p99 %v, most %v", usual, worst)
	p.t.Logf("%d calls: p99.9 %v, most %v; %d without server: p50 %v, p99 %v, most %v; noticed after %v, back after %v", len(all), slow,
		quantile(all, 1), len(local), quantile(local, 0.5), fast, quantile(local, 1), p.noticed, p.back)
	if limit := slowestCall + 2*worst; slow > limit {
		p.t.Errorf("p99.9 of the calls is %v, want at most %v", slow, limit)
	}
	if limit := localCall + 4*usual; fast > limit {
		p.t.Errorf("p99 of the calls without server is %v, want at most %v", fast, limit)
	}
	if limit := comesBack + 4*worst; p.back > limit {
		p.t.Errorf("the server decides again after %v, want at most %v", p.back, limit)
	}
}

// judgeSums checks that the limit holds, and that it is used while there is no server.
func (p *passage) judgeSums() {
	p.t.Helper()
	sum := fullest(p.between(p.started, p.over))
	span := p.returned.Sub(p.settled) - time.Second
	rate := float64(passedOf(p.between(p.settled.Add(time.Second), p.returned))) / span.Seconds()
	p.t.Logf("limit %d: %d in the fullest second, %.0f per second without server", fleetLimit, sum, rate)
	if sum > 2*fleetLimit {
		p.t.Errorf("%d calls passed within a second, of a limit of %d", sum, fleetLimit)
	}
	if rate < fleetLimit/2 || rate > fleetLimit*1.3 {
		p.t.Errorf("without server %.0f calls per second passed, of a limit of %d", rate, fleetLimit)
	}
}

func serveFleet(t *testing.T, addr string) *process {
	t.Helper()
	return startProcess(t, "-listen", addr, "-namespace", "shop="+flowRule(t, fleetFlow, fleetLimit, time.Second), "-admin", "127.0.0.1:0")
}

func TestServerKilled(t *testing.T) {
	p := serveFleet(t, loopback(t))
	f := newFleet(t, p.addr)
	f.suffer(3*time.Second, fault{p.kill, func() time.Time { serveFleet(t, p.addr); return time.Now() }}).judge()
}

func TestServerFrozen(t *testing.T) {
	p := serveFleet(t, loopback(t))
	f := newFleet(t, p.addr)
	f.suffer(3*time.Second, fault{func() { p.signal(syscall.SIGSTOP) }, func() time.Time {
		now := time.Now()
		p.signal(syscall.SIGCONT)
		return now
	}}).judge()
}
