//go:build !unix

package proxy_test

import "time"

// cpuTime returns 0 where the processor time of the process is not known.
func cpuTime() time.Duration { return 0 }
