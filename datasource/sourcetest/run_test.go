package sourcetest_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/datasource/sourcetest"
)

// A memory keeps one document and wakes its sources when it changes: the least system a source can read.
type memory struct {
	mu      sync.Mutex
	content []byte        // guarded by mu; nil: absent
	cut     bool          // guarded by mu
	changed chan struct{} // guarded by mu; closed at the next change
}

func (m *memory) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	if m.changed != nil {
		close(m.changed)
	}
	m.changed = make(chan struct{})
}

func (m *memory) put(content []byte) { m.set(func() { m.content = bytes.Clone(content) }) }

func (m *memory) read() ([]byte, bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.content, m.cut, m.changed
}

// A memorySource is a source as its writer would build it on a Feed.
type memorySource struct {
	*datasource.Feed
	memory *memory
}

func (s memorySource) Start(ctx context.Context, h datasource.Handler) error {
	return s.Feed.Start(ctx, h, s.watch)
}

func (s memorySource) watch(ctx context.Context) {
	for {
		content, cut, changed := s.memory.read()
		switch {
		case cut:
			_ = s.Fail(errors.New("connection refused"))
		case content == nil:
			_ = s.Absent(ctx)
		default:
			_ = s.Content(ctx, bytes.Clone(content), "")
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func fixture(*testing.T) sourcetest.Fixture {
	m := &memory{}
	cut := func(on bool) func(*testing.T) {
		return func(*testing.T) { m.set(func() { m.cut = on }) }
	}
	return sourcetest.Fixture{
		New: func(_ *testing.T, policy datasource.Policy) datasource.Source {
			return memorySource{Feed: datasource.NewFeed("memory", policy), memory: m}
		},
		Put:        func(_ *testing.T, content []byte) { m.put(content) },
		Delete:     func(*testing.T) { m.put(nil) },
		Corrupt:    func(*testing.T) { m.put([]byte("\x00")) },
		Disconnect: cut(true),
		Reconnect:  cut(false),
		Restart:    func(t *testing.T) { cut(true)(t); cut(false)(t) },
	}
}

// emptyIsDeleted is a system that stores empty content as a deletion.
func emptyIsDeleted(t *testing.T) sourcetest.Fixture {
	f := fixture(t)
	put, remove := f.Put, f.Delete
	f.EmptyIsDeleted = true
	f.Put = func(t *testing.T, content []byte) {
		if len(content) == 0 {
			remove(t)
			return
		}
		put(t, content)
	}
	return f
}

func TestRun(t *testing.T) { sourcetest.Run(t, fixture) }

func TestRunVirtual(t *testing.T) {
	t.Parallel()
	sourcetest.RunVirtual(t, emptyIsDeleted)
}
