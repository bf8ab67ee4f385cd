package sourcetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// A Recorder is a handler that accepts JSON arrays, refuses everything else, and remembers what it was given. The zero
// value is ready; its methods may be called from any goroutine.
type Recorder struct {
	mu       sync.Mutex
	inForce  string   // guarded by mu
	accepted []string // guarded by mu
	refused  []string // guarded by mu
	deleted  int      // guarded by mu
	active   int      // guarded by mu; calls under way
	overlap  bool     // guarded by mu; two calls were under way at once
}

// Update accepts content if it is a JSON array.
func (r *Recorder) Update(_ context.Context, content []byte) error {
	r.enter()
	defer r.leave()
	var rules []json.RawMessage
	err := json.Unmarshal(content, &rules)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.refused = append(r.refused, string(content))
		return fmt.Errorf("not a JSON array: %w", err)
	}
	r.inForce = string(content)
	r.accepted = append(r.accepted, r.inForce)
	return nil
}

// Deleted takes the content in force back.
func (r *Recorder) Deleted(context.Context) error {
	r.enter()
	defer r.leave()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inForce = ""
	r.deleted++
	return nil
}

// InForce returns the content in force, "" if there is none.
func (r *Recorder) InForce() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inForce
}

// Accepted returns all contents that were accepted, the oldest first.
func (r *Recorder) Accepted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.accepted)
}

// Refused returns all contents that were refused, the oldest first.
func (r *Recorder) Refused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}

// Deletions returns how often Deleted was called.
func (r *Recorder) Deletions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deleted
}

// Overlapped reports whether two calls were ever under way at once.
func (r *Recorder) Overlapped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overlap
}

func (r *Recorder) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active++
	r.overlap = r.overlap || r.active > 1
}

func (r *Recorder) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
}
