// Package standalone runs a token server by itself: its settings come from flags and a configuration file, its rules
// from files, and all of them are followed while it runs. It can serve the Envoy rate limit service beside Sentinel's
// protocol, and tells what it does on an admin address: GET /status as JSON and GET /metrics for Prometheus.
//
// Config says what to serve. New checks it, Start serves, Reload puts another one into force without dropping what need
// not be dropped, Stop answers what is in flight and ends.
package standalone
