//go:build unix

package measure

import (
	"syscall"
	"time"
)

// CPUTime returns the user and system time that the process has used.
func CPUTime() time.Duration {
	used, _ := usage()
	return used
}

// usage returns the CPU time of the process and how often another took its core.
func usage() (used time.Duration, displaced int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), int64(u.Nivcsw)
}
