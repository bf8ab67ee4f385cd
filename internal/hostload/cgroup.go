package hostload

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// read returns the CPU state of each cgroup, own first, and the size of the CPU set (0: unknown).
// The list is empty if the own cgroup's state cannot be read in full.
func (h *hierarchy) read() (groups []group, cpuset int) {
	for i := range min(len(h.cpu), len(h.cpuacct)) {
		g, ok := readGroup(h.v1, h.cpu[i], h.cpuacct[i])
		if !ok && i == 0 {
			return nil, h.readCPUSet()
		}
		if ok {
			groups = append(groups, g)
		}
	}
	return groups, h.readCPUSet()
}

func readGroup(v1 bool, cpu, cpuacct string) (group, bool) {
	g := group{dir: cpuacct}
	var quotaOK, usageOK bool
	if v1 {
		g.quota, quotaOK = quotaV1(filepath.Join(cpu, "cpu.cfs_quota_us"), filepath.Join(cpu, "cpu.cfs_period_us"))
		g.usage, usageOK = parseUint(readFile(filepath.Join(cpuacct, "cpuacct.usage")))
	} else {
		g.quota, quotaOK = quotaV2(readFile(filepath.Join(cpu, "cpu.max")))
		g.usage, usageOK = usageV2(readFile(filepath.Join(cpuacct, "cpu.stat")))
	}
	return g, quotaOK && usageOK
}

// quotaV2 reads cpu.max: "QUOTA PERIOD" or "max PERIOD". The file is absent, so text is empty, in the
// root cgroup and where the controller is off; then there is no quota.
func quotaV2(text string) (cores float64, ok bool) {
	fields := strings.Fields(text)
	if len(fields) == 0 || fields[0] == "max" {
		return 0, true
	}
	period := "100000"
	if len(fields) > 1 {
		period = fields[1]
	}
	return divide(fields[0], period)
}

// quotaV1 reads the two files of version 1; a quota of -1 or a missing file is none.
func quotaV1(quotaFile, periodFile string) (cores float64, ok bool) {
	quota := readFile(quotaFile)
	if quota == "" || quota == "-1" {
		return 0, true
	}
	return divide(quota, readFile(periodFile))
}

func divide(quota, period string) (float64, bool) {
	q, okQ := parseUint(quota)
	p, okP := parseUint(period)
	if !okQ || !okP || q == 0 || p == 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}

// usageV2 reads the line "usage_usec N" of cpu.stat.
func usageV2(text string) (nanoseconds uint64, ok bool) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, "usage_usec "); found {
			usec, ok := parseUint(rest)
			return usec * 1000, ok && usec <= math.MaxUint64/1000
		}
	}
	return 0, false
}

func (h *hierarchy) readCPUSet() int {
	if len(h.cpuset) == 0 {
		return 0
	}
	names := []string{"cpuset.cpus.effective"}
	if h.cpusetV1 {
		names = []string{"cpuset.effective_cpus", "cpuset.cpus"}
	}
	for _, name := range names {
		if n := countCPUs(readFile(filepath.Join(h.cpuset[0], name))); n > 0 {
			return n
		}
	}
	return 0
}

// memoryLimit returns the smallest limit of the own cgroup and its parents.
func (h *hierarchy) memoryLimit() (limit uint64, limited bool) {
	name := "memory.max"
	if h.memoryV1 {
		name = "memory.limit_in_bytes"
	}
	for _, dir := range h.memory {
		n, ok := parseUint(readFile(filepath.Join(dir, name))) // "max" is no number: no limit
		if ok && n > 0 && (!limited || n < limit) {
			limit, limited = n, true
		}
	}
	// Version 1 writes "no limit" as the largest multiple of a page.
	return limit, limited && limit < math.MaxInt64&^(1<<20-1)
}

func parseUint(text string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
