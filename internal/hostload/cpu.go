package hostload

import (
	"math"
	"time"
)

const (
	// minElapsed is the shortest time between two snapshots that gives a figure: /proc/stat counts in
	// hundredths of a second. A snapshot that comes sooner is dropped and its time falls to the next.
	minElapsed = 100 * time.Millisecond

	// halfLife is the smoothing: after so long a change of usage is half visible, after four times
	// as long to 94 %.
	halfLife = time.Second
)

// group is the CPU state of one cgroup.
type group struct {
	dir   string
	quota float64 // cores; 0: none
	usage uint64  // CPU time used so far, nanoseconds
}

// snapshot holds all CPU counters at one time.
type snapshot struct {
	at        time.Time
	host      ticks
	hostOK    bool
	hostCores int     // at least 1
	cpuset    int     // cores of the process's CPU set; 0: unknown
	groups    []group // own cgroup first, then its parents; empty: not available
}

// cores returns how many cores the process may use.
func (s snapshot) cores() float64 {
	cores := s.baseCores()
	for _, g := range s.groups {
		if g.quota > 0 {
			cores = min(cores, g.quota)
		}
	}
	return cores
}

// baseCores is cores without the quotas.
func (s snapshot) baseCores() float64 {
	if s.cpuset > 0 && s.cpuset < s.hostCores {
		return float64(s.cpuset)
	}
	return float64(s.hostCores)
}

// limited reports whether the process may use less than the machine.
func (s snapshot) limited() bool { return s.cores() < float64(s.hostCores) }

// sampler turns successive snapshots into a smoothed figure. Its zero value is ready.
type sampler struct {
	last  snapshot
	began bool
	value float64
	valid bool
}

// add takes the next snapshot and returns the usage from 0 to 1, false while there is none.
// A pair of snapshots that cannot be compared (counters or time that went back) leaves the value as
// it was; counters that cannot be read any more end it.
func (s *sampler) add(next snapshot) (float64, bool) {
	if !next.hostOK && len(next.groups) == 0 {
		*s = sampler{}
		return 0, false
	}
	elapsed := next.at.Sub(s.last.at)
	if s.began && elapsed >= 0 && elapsed < minElapsed {
		return s.value, s.valid
	}
	if s.began && elapsed > 0 {
		if usage, ok := usageBetween(s.last, next, elapsed); ok {
			s.smooth(usage, elapsed)
		}
	}
	s.last, s.began = next, true
	return s.value, s.valid
}

// smooth is an exponentially weighted moving average whose weight follows the time elapsed;
// the first value counts in full.
func (s *sampler) smooth(usage float64, elapsed time.Duration) {
	if !s.valid {
		s.value, s.valid = usage, true
		return
	}
	weight := 1 - math.Exp2(-elapsed.Seconds()/halfLife.Seconds())
	s.value += weight * (usage - s.value)
}

// usageBetween returns the unsmoothed usage from 0 to 1.
func usageBetween(old, next snapshot, elapsed time.Duration) (float64, bool) {
	usage, ok := groupUsage(old, next, elapsed)
	if next.limited() && len(next.groups) > 0 {
		return usage, ok // the machine may be busy with what is not ours
	}
	if host, hostOK := hostUsage(old, next); hostOK {
		return max(usage, host), true
	}
	return usage, ok
}

// groupUsage returns the largest usage of the own cgroup and of the parents that have a quota.
func groupUsage(old, next snapshot, elapsed time.Duration) (usage float64, ok bool) {
	for i, g := range next.groups {
		if i > 0 && g.quota <= 0 {
			continue
		}
		before, known := old.usageOf(g.dir)
		if !known || g.usage < before {
			continue
		}
		allowed := next.baseCores()
		if g.quota > 0 {
			allowed = min(allowed, g.quota)
		}
		share := float64(g.usage-before) / float64(elapsed) / allowed
		if math.IsNaN(share) {
			continue
		}
		usage, ok = max(usage, min(share, 1)), true
	}
	return usage, ok
}

func (s snapshot) usageOf(dir string) (uint64, bool) {
	for _, g := range s.groups {
		if g.dir == dir {
			return g.usage, true
		}
	}
	return 0, false
}

// hostUsage returns the usage of the whole machine.
func hostUsage(old, next snapshot) (float64, bool) {
	if !old.hostOK || !next.hostOK || next.host.total <= old.host.total || next.host.busy < old.host.busy {
		return 0, false
	}
	return min(float64(next.host.busy-old.host.busy)/float64(next.host.total-old.host.total), 1), true
}
