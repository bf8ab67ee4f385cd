package tidegate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/internal/hostload"
	"github.com/tidegate-go/tidegate/system"
)

// SystemReadings are the machine's figures that system rules and memory-adaptive flow rules compare.
// A figure that is not known never refuses a call.
type SystemReadings struct {
	Load        float64 // one-minute load average
	LoadKnown   bool
	CPU         float64 // 0 to 1 of what the process may use
	CPUKnown    bool
	Memory      uint64 // bytes resident
	MemoryKnown bool
}

// WithSystemReadings replaces the engine's own readings, for tests and for machines that it cannot read. The
// function is called by every call that a rule on load, CPU usage or memory applies to, and must be quick; a panic in
// it is counted, and the figures are then not known.
func WithSystemReadings(read func() SystemReadings) Option {
	return func(c *config) error { c.readings = read; return nil }
}

const sampleEvery = time.Second

// sampler reads the machine once a second, in one goroutine that exists only while a rule needs it.
type sampler struct {
	read   func() SystemReadings // injected; nil: the machine
	latest atomic.Pointer[SystemReadings]

	mu     sync.Mutex
	closed bool               // guarded by mu
	stop   context.CancelFunc // nil while not running; guarded by mu
	done   chan struct{}      // guarded by mu
}

// readings returns the latest figures.
func (s *sampler) readings() SystemReadings {
	if r := s.latest.Load(); r != nil {
		return *r
	}
	return SystemReadings{}
}

// adjust starts or ends the sampling. It asks under its lock whether a rule needs it, so that of simultaneous loads
// the last one to come here has seen the rules of all.
func (s *sampler) adjust(needed func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch on := needed(); {
	case s.read != nil || s.closed || on == (s.stop != nil):
	case on:
		ctx, stop := context.WithCancel(context.Background())
		s.stop, s.done = stop, make(chan struct{})
		go s.run(ctx, s.done)
	default:
		s.end()
	}
}

// end ends the goroutine. The caller holds mu.
func (s *sampler) end() {
	if s.stop != nil {
		s.stop()
		<-s.done
		s.stop = nil
		s.latest.Store(nil)
	}
}

func (s *sampler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.end()
}

func (s *sampler) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	reader := hostload.New("")
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		r := reader.Sample(time.Now())
		s.latest.Store(&SystemReadings{
			Load: r.Load, LoadKnown: r.LoadOK, CPU: r.CPU, CPUKnown: r.CPUOK, Memory: r.RSS, MemoryKnown: r.RSSOK,
		})
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Readings returns the machine's figures as rules see them. Without a rule that needs them they are not known.
func (e *Engine) Readings() SystemReadings {
	if !e.made() {
		return SystemReadings{}
	}
	return e.figures()
}

// figures returns the machine's latest figures, or what the user's function says.
func (e *Engine) figures() (r SystemReadings) {
	if e.sampler.read == nil {
		return e.sampler.readings()
	}
	e.guard("system readings", func() { r = e.sampler.read() })
	return r
}

// InactiveSystemLimits names system limits in force whose figure is not known, such as "inactive: load unavailable".
func (e *Engine) InactiveSystemLimits() []string {
	if !e.made() {
		return nil
	}
	return e.system.Inactive()
}

func (e *Engine) systemReadings() system.Readings {
	r := e.figures()
	return system.Readings{Load: r.Load, LoadKnown: r.LoadKnown, CPU: r.CPU, CPUKnown: r.CPUKnown}
}

func (e *Engine) memory() (uint64, bool) {
	r := e.figures()
	return r.Memory, r.MemoryKnown
}

// memoryTotal returns what reads the memory there is; nil with injected readings, which may be of any machine.
func (e *Engine) memoryTotal() func() (uint64, bool) {
	if e.config.readings != nil {
		return nil
	}
	return hostload.New("").MemoryTotal
}

// sampleIfNeeded starts or ends the sampling as the rules in force need it.
func (e *Engine) sampleIfNeeded() {
	e.sampler.adjust(func() bool { return e.system.NeedsReadings() || e.flow.NeedsMemory() })
}
