package server

import (
	"syscall"
	"time"
)

// tcpUserTimeout is Linux's option for how long sent data may stay unacknowledged.
const tcpUserTimeout = 18

// limitUnacknowledged ends a connection whose peer does not acknowledge an answer: probes are not sent meanwhile, and
// without it the system would go on for a quarter of an hour.
func limitUnacknowledged(fd uintptr, d time.Duration) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds())) // else the system's default
}
