package hostload

import (
	"bytes"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// maxFile bounds how much of a file is read.
const maxFile = 4 << 20

// readFile returns the text of a regular file, "" if there is none: a fixture's pipe must not block.
func readFile(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// readLoad reads the first figure of /proc/loadavg.
func readLoad(path string) (float64, bool) {
	first, _, _ := strings.Cut(readFile(path), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || math.IsNaN(load) || math.IsInf(load, 0) || load < 0 {
		return 0, false
	}
	return load, true
}

// readKiB reads a line such as "VmRSS:  1234 kB" and returns bytes.
func readKiB(path, label string) (uint64, bool) {
	for line := range strings.Lines(readFile(path)) {
		rest, found := strings.CutPrefix(line, label)
		if !found {
			continue
		}
		number, found := strings.CutSuffix(strings.TrimSpace(rest), "kB")
		kib, err := strconv.ParseUint(strings.TrimSpace(number), 10, 54)
		return kib * 1024, found && err == nil
	}
	return 0, false
}

// ticks counts the machine's CPU time since boot, over all cores, in clock ticks.
type ticks struct {
	busy, total uint64
}

// readStat reads /proc/stat: the sum over all cores, and how many cores it lists.
func readStat(path string) (sum ticks, ok bool, cores int) {
	for line := range strings.Lines(readFile(path)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "cpu":
			sum, ok = parseTicks(fields[1:])
		case strings.HasPrefix(fields[0], "cpu"):
			cores++
		}
	}
	return sum, ok, cores
}

// parseTicks reads user, nice, system, idle, iowait, irq, softirq, steal. The guest columns after them
// are part of user and nice already. Stolen time counts as busy, since it cannot be used.
func parseTicks(fields []string) (t ticks, ok bool) {
	const idle, iowait, columns = 3, 4, 8
	if len(fields) <= idle {
		return ticks{}, false
	}
	for i, field := range fields[:min(len(fields), columns)] {
		n, err := strconv.ParseUint(field, 10, 60)
		if err != nil {
			return ticks{}, false
		}
		t.total += n
		if i != idle && i != iowait {
			t.busy += n
		}
	}
	return t, true
}

// countCores counts the machine's cores where /proc/stat does not tell; at worst it is the runtime's figure.
func (r *Reader) countCores() int {
	cores := 0
	for line := range strings.Lines(readFile(r.path("proc/cpuinfo"))) {
		if name, _, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "processor" {
			cores++
		}
	}
	if cores == 0 {
		cores = countCPUs(readFile(r.path("sys/devices/system/cpu/online")))
	}
	if cores == 0 {
		cores = runtime.NumCPU()
	}
	return cores
}

// countCPUs counts a list such as "0-3,8,10-11"; it returns 0 for one that is empty or malformed.
func countCPUs(list string) int {
	if list == "" {
		return 0
	}
	n := 0
	for item := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(item, "-")
		first, err := strconv.ParseUint(low, 10, 20)
		last := first
		if isRange && err == nil {
			last, err = strconv.ParseUint(high, 10, 20)
		}
		if err != nil || last < first {
			return 0
		}
		n += int(last-first) + 1
	}
	return n
}
