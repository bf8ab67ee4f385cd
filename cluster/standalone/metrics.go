package standalone

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// collector turns the status into metrics when they are asked for, so that a decision costs nothing more for them.
type collector struct{ server *Server }

const prefix = "tidegate_token_"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

// Describe sends nothing: the metrics depend on the rules.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics as of now.
func (c collector) Collect(to chan<- prometheus.Metric) {
	st := c.server.Status()
	m := metrics{to}
	for _, f := range st.Service.Flows {
		m.decisions("flow", f.Namespace, f.FlowID, f.Resource, f.Decisions)
		labels := []string{"flow", f.Namespace, strconv.FormatInt(f.FlowID, 10), f.Resource}
		m.gauge(ruleDesc("threshold", "Units that the window of a rule admits."), f.Threshold, labels...)
		m.gauge(ruleDesc("current", "Units in the window of a rule."), float64(f.Current+f.Taken), labels...)
	}
	for _, p := range st.Service.Params {
		m.decisions("param", p.Namespace, p.FlowID, p.Resource, p.Decisions)
		labels := []string{"param", p.Namespace, strconv.FormatInt(p.FlowID, 10), p.Resource}
		m.gauge(ruleDesc("threshold", "Units that the window of a rule admits."), p.Threshold, labels...)
		m.gauge(ruleDesc("values", "Values that a parameter rule counts."), float64(p.Values), labels...)
	}
	m.service(st.Service)
	m.port(st.Server)
	m.counter(desc("config_reloads_total", "Configurations after the first, by what became of them.", "result"), float64(st.Config.Reloads), "taken")
	m.counter(desc("config_reloads_total", "Configurations after the first, by what became of them.", "result"), float64(st.Config.Refused), "refused")
	for _, f := range st.Files {
		stale := 0.0
		if f.Stale {
			stale = 1
		}
		m.gauge(desc("rule_file_stale", "1 while what is in force is not what the file holds.", "namespace", "kind", "path"), stale, f.Namespace, f.Kind, f.Path)
	}
}

// ruleDesc describes a metric of a rule.
func ruleDesc(name, help string, more ...string) *prometheus.Desc {
	return desc(name, help, append([]string{"kind", "namespace", "flow_id", "resource"}, more...)...)
}

type metrics struct{ to chan<- prometheus.Metric }

func (m metrics) counter(d *prometheus.Desc, value float64, labels ...string) {
	m.send(d, prometheus.CounterValue, value, labels)
}

func (m metrics) gauge(d *prometheus.Desc, value float64, labels ...string) {
	m.send(d, prometheus.GaugeValue, value, labels)
}

// send sends one metric; what is wrong with it fails the whole answer, with the reason.
func (m metrics) send(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels []string) {
	metric, err := prometheus.NewConstMetric(d, kind, value, labels...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(d, err)
	}
	m.to <- metric
}

// decisions sends the answers that a rule gave, by status.
func (m metrics) decisions(kind, namespace string, id int64, resource string, d token.Decisions) {
	all := ruleDesc("decisions_total", "Requests by rule and answer.", "status")
	for _, v := range []struct {
		status chain.TokenStatus
		count  uint64
	}{
		{chain.TokenOK, d.Granted + d.Spared},
		{chain.TokenShouldWait, d.Waited},
		{chain.TokenBlocked, d.Blocked},
		{chain.TokenTooManyRequest, d.Limited},
		{chain.TokenFail, d.Failed},
	} {
		m.counter(all, float64(v.count), kind, namespace, strconv.FormatInt(id, 10), resource, v.status.String())
	}
	m.counter(ruleDesc("observed_total", "Requests that a rule only observing would have blocked."), float64(d.Spared),
		kind, namespace, strconv.FormatInt(id, 10), resource)
}

func (m metrics) service(s token.Status) {
	for _, ns := range s.Namespaces {
		m.gauge(desc("connected", "Clients that take part in a namespace.", "namespace"), float64(ns.Connected), ns.Namespace)
		m.gauge(desc("limiter_requests", "Requests of the last second that the namespace's limit counts.", "namespace"), float64(ns.Requests), ns.Namespace)
		m.gauge(desc("limiter_limit", "Requests per second that the namespace may send.", "namespace"), float64(ns.Most), ns.Namespace)
	}
	unruled := desc("unruled_total", "Requests that no rule decided, by answer.", "status")
	m.counter(unruled, float64(s.NoRule), chain.TokenNoRule.String())
	m.counter(unruled, float64(s.BadRequest), chain.TokenBadRequest.String())
	m.counter(desc("conflicts_total", "Requests whose flow id more than one other namespace has."), float64(s.Conflicts))
	m.gauge(desc("concurrency_tokens", "Concurrency tokens that are out."), float64(s.TokensOut))
	m.counter(desc("concurrency_tokens_expired_total", "Concurrency tokens that were taken back."), float64(s.Expired))
}

func (m metrics) port(s server.Status) {
	m.gauge(desc("connections", "Open connections."), float64(s.Connections))
	m.counter(desc("connections_accepted_total", "Connections accepted."), float64(s.Accepted))
	for why, n := range s.Refused {
		m.counter(desc("connections_refused_total", "Connections refused, by why.", "why"), float64(n), why)
	}
	for why, n := range s.Ended {
		m.counter(desc("connections_ended_total", "Connections ended, by why.", "why"), float64(n), why)
	}
	for status, n := range s.Decisions {
		m.counter(desc("answers_total", "Answers to requests, by status.", "status"), float64(n), status)
	}
	m.counter(desc("pings_total", "Pings answered."), float64(s.Pings))
	m.counter(desc("malformed_frames_total", "Frames that could not be read."), float64(s.Malformed))
	m.counter(desc("oversized_frames_total", "Frames above the limit, which were passed over."), float64(s.Oversized))
	m.counter(desc("unknown_types_total", "Frames of a type that the server does not know."), float64(s.UnknownTypes))
	m.counter(desc("unauthenticated_total", "Requests without a proof of the secret."), float64(s.Unauthenticated))
	m.counter(desc("wrong_proofs_total", "Wrong proofs of the secret."), float64(s.WrongProofs))
	m.counter(desc("tls_failures_total", "Failed TLS handshakes."), float64(s.TLSFailures))
	m.counter(desc("shed_total", "Requests refused by overload."), float64(s.Shed))
	m.latency(s.Latency)
}

// longest is the exponent of the highest bucket of latencies: 2^22 microseconds are four seconds.
const longest = 22

// latency sends the histogram of the time from reading a request to answering it. Its buckets are always the same.
func (m metrics) latency(l server.Latency) {
	const microsecond = 1e-6
	buckets, count, sum := map[float64]uint64{}, uint64(0), 0.0
	for i := range longest + 1 {
		buckets[float64(int64(1)<<i)*microsecond] = 0
	}
	for _, b := range l.Buckets {
		count += b.Count
		sum += float64(b.Count) * float64(b.AtMostMicros) * microsecond
		for bound := range buckets {
			if bound >= float64(b.AtMostMicros)*microsecond {
				buckets[bound] += b.Count
			}
		}
	}
	d := desc("latency_seconds", "Time from a request's arrival to its answer, of one batch in sixteen. The sum is an upper bound.")
	metric, err := prometheus.NewConstHistogram(d, count, sum, buckets)
	if err != nil {
		metric = prometheus.NewInvalidMetric(d, err)
	}
	m.to <- metric
}
