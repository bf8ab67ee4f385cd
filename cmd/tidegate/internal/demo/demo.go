package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/proxy"
)

// Options say how the demonstration runs.
type Options struct {
	Seconds  int // how long; at least 1. From 5 on everything is seen
	Terminal bool
	Size     func() (columns, lines int) // of the terminal, 0 where it is not known; nil: 80 columns, 24 lines
	Out      io.Writer
}

// settle is how long after a second's end its figures are read.
const settle = 100 * time.Millisecond

// Run runs the demonstration: setting up, showing each second, and a summary. It ends early when ctx does. The error
// says what could not be set up, or that a limit did not hold.
func Run(ctx context.Context, o Options) error {
	d := &demo{options: o, plan: newPlan(o.Seconds), meter: newMeter()}
	defer d.close()
	if err := d.setUp(ctx); err != nil {
		return fmt.Errorf("setting up the demonstration: %w", err)
	}
	d.play(ctx)
	return d.summarize(o.Out)
}

type demo struct {
	options  Options
	plan     plan
	dir      string
	upstream *upstream
	gateway  *proxy.Server
	meter    *meter
	rows     []row
}

// setUp starts the upstream, writes the gateway's configuration and rule file, and starts the gateway.
func (d *demo) setUp(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "tidegate-demo-"); err != nil {
		return err
	}
	if d.upstream, err = newUpstream(ctx); err != nil {
		return err
	}
	if err = d.writeRules(slowLimit); err != nil {
		return err
	}
	file := filepath.Join(d.dir, "gateway.yaml")
	if err = os.WriteFile(file, fmt.Appendf(nil, config, d.upstream.url), 0o600); err != nil {
		return err
	}
	c, err := proxy.Load(file)
	if err != nil {
		return err
	}
	if d.gateway, err = proxy.New(c, proxy.WithEngineOptions(d.meter.callbacks())); err != nil {
		return err
	}
	d.meter.watch(d.gateway.Engine())
	return d.gateway.Start()
}

func (d *demo) writeRules(slowLimit int) error {
	text, err := d.plan.rules(slowLimit)
	if err != nil {
		return err
	}
	return datasource.WriteFile(filepath.Join(d.dir, "rules.json"), text)
}

func (d *demo) close() {
	if d.gateway != nil {
		over, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits for the requests that are left
		_ = d.gateway.Stop(over)
	}
	if d.upstream != nil {
		d.upstream.close()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir) // left behind at worst
	}
}

// play generates load from the next whole second of the engine's time on, and shows each second when it is over.
func (d *demo) play(ctx context.Context) {
	start := d.gateway.Engine().Now().Truncate(time.Second).Add(time.Second)
	if !d.waitUntil(ctx, start) {
		return
	}
	loaded, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		load(loaded, "http://"+d.gateway.Addr().String())
	}()
	go d.act(loaded, start)
	screen := d.screen()
	for i := range d.options.Seconds {
		second := start.Add(time.Duration(i) * time.Second)
		if !d.waitUntil(ctx, second.Add(time.Second)) {
			break
		}
		if i == d.options.Seconds-1 {
			cancel()
		}
		d.waitUntil(ctx, second.Add(time.Second+settle))
		var rows []row
		for _, resource := range resources() {
			rows = append(rows, d.meter.read(resource, second))
		}
		d.rows = append(d.rows, rows...)
		screen.second(rows, d.meter.noted())
	}
	cancel()
	<-done
}

func (d *demo) screen() show {
	if d.options.Terminal {
		return newTable(d.options.Out, d.options.Seconds, d.options.Size)
	}
	return lines{d.options.Out}
}

// act makes the failing route fail for a while, and edits the rule file.
func (d *demo) act(ctx context.Context, start time.Time) {
	for _, step := range []struct {
		at time.Duration
		do func()
	}{
		{d.plan.failFrom, func() {
			d.upstream.failing.Store(true)
			d.meter.note(d.gateway.Engine().Now(), flaky+" begins to fail")
		}},
		{d.plan.failTo, func() {
			d.upstream.failing.Store(false)
			d.meter.note(d.gateway.Engine().Now(), flaky+" is well again")
		}},
		{d.plan.edit, d.edit},
	} {
		if !d.waitUntil(ctx, start.Add(step.at)) {
			return
		}
		step.do()
	}
}

func (d *demo) edit() {
	d.meter.note(d.gateway.Engine().Now(), fmt.Sprintf("rule file edited: %s may pass %d per second", slow, slowLowered))
	if err := d.writeRules(slowLowered); err != nil {
		d.meter.note(d.gateway.Engine().Now(), "the rule file could not be edited: "+err.Error())
	}
}

// waitUntil waits until the engine's time is at; false if ctx ended before.
func (d *demo) waitUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(at.Sub(d.gateway.Engine().Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errExceeded says that the demonstration showed what must not be.
var errExceeded = errors.New("a reject limit was exceeded")
