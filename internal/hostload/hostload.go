// Package hostload reads how busy the machine or the container is: load average, CPU usage and the
// memory of this process. It reads the files of Linux's /proc and cgroups (v1, v2 and both at once);
// what cannot be read, as on other operating systems, is reported as not available.
package hostload

import (
	"path/filepath"
	"sync"
	"time"
)

// Readings is what one sample found. A figure whose OK field is false is not available (the value is
// then 0), and no rule may decide by it.
type Readings struct {
	Load   float64 // load average of the last minute, of the whole machine and not divided by cores
	LoadOK bool

	// CPU is the share of the CPU time this process may use that is in use, from 0 to 1, smoothed.
	// With a quota or a restricted CPU set it is that of the cgroup (with quotas at several levels the
	// largest of them); without, the larger one of the cgroup's and the whole machine's.
	// The first sample never has it, since usage is a difference of two.
	CPU   float64
	CPUOK bool

	RSS   uint64 // resident memory of this process in bytes
	RSSOK bool

	// Cores is how many cores the process may use: the machine's, or less by CPU set or quota,
	// so it may be a fraction. It is never 0.
	Cores float64
}

// A Reader takes samples. It starts no goroutine; call Sample about once a second. Calls may be
// simultaneous, but each moves the baseline of the next.
type Reader struct {
	root string

	mu      sync.Mutex
	groups  *hierarchy // guarded by mu; nil: to be located at the next sample
	sampler sampler    // guarded by mu
}

// New returns a reader of the file system below root, usually "/" (which "" means too).
// It reads nothing yet and does not mind if nothing is there.
func New(root string) *Reader {
	if root == "" {
		root = "/"
	}
	return &Reader{root: root}
}

// Sample reads all figures. now should come from time.Now, whose monotonic reading makes the CPU
// figure independent of steps of the wall clock. It does not fail: see the OK fields.
func (r *Reader) Sample(now time.Time) Readings {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out Readings
	out.Load, out.LoadOK = readLoad(r.path("proc/loadavg"))
	out.RSS, out.RSSOK = readKiB(r.path("proc/self/status"), "VmRSS:")

	snap := r.snapshot(now)
	out.Cores = snap.cores()
	out.CPU, out.CPUOK = r.sampler.add(snap)
	return out
}

// snapshot reads all CPU counters. The caller holds mu.
func (r *Reader) snapshot(now time.Time) snapshot {
	snap := snapshot{at: now}
	snap.host, snap.hostOK, snap.hostCores = readStat(r.path("proc/stat"))
	if snap.hostCores == 0 {
		snap.hostCores = r.countCores()
	}
	if r.groups == nil {
		r.groups = locate(r.root)
	}
	snap.groups, snap.cpuset = r.groups.read()
	if len(snap.groups) == 0 {
		r.groups = nil // moved, or not mounted yet: look again next time
	}
	return snap
}

// MemoryTotal returns how much memory the process may use, in bytes: the machine's, or the smallest
// limit of its cgroups. It returns false if that cannot be read.
func (r *Reader) MemoryTotal() (uint64, bool) {
	total, ok := readKiB(r.path("proc/meminfo"), "MemTotal:")
	if limit, limited := locate(r.root).memoryLimit(); limited && (!ok || limit < total) {
		return limit, true
	}
	return total, ok
}

func (r *Reader) path(name string) string { return filepath.Join(r.root, name) }
