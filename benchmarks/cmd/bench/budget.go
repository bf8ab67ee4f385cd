package main

// budget is one limit on what was measured.
type budget struct {
	what    string
	rows    []row
	value   func(v []float64) float64 // of the rows' values
	limit   float64
	atLeast bool // the limit is the least that is good enough, not the most
	unit    string
}

const gatewayRatio = "gateway/ratio"

func first(v []float64) float64 { return v[0] }
func over(v []float64) float64  { return v[0] / v[1] }
func more(v []float64) float64  { return v[0] - v[1] }

func one(name string) row     { return row{name, 1} }
func two(name string) row     { return row{name, 2} }
func figured(name string) row { return row{name, 0} }

const (
	ours   = "tidegate/"
	four   = "flow+breaker+isolation+system"
	reject = "flow-reject"
	block  = "blocked-by-flow-0"
)

// budgets lists every limit.
func budgets() []budget {
	var all []budget
	for _, part := range [][]budget{perCall(), cores(), againstPeers(), againstSentinel(), memory(), tokenService(), others()} {
		all = append(all, part...)
	}
	return all
}

func perCall() []budget {
	units := func(what, name string, limit float64) budget {
		return budget{what: what, rows: []row{one(ours + name)}, value: first, limit: limit, unit: "units"}
	}
	extra := func(what, name string) budget {
		return budget{what: what, rows: []row{one(ours + name), one(ours + "no-rule")}, value: more, limit: 3, unit: "units"}
	}
	return []budget{
		units("no rule", "no-rule", 4),
		units("one reject rule, passing", reject, 5),
		units("one reject rule given by a pattern, passing", "flow-reject-regex", 5),
		units("refused by a reject rule", block, 2.5),
		units("one breaker (error ratio)", "breaker-error-ratio", 5.5),
		units("flow + breaker + isolation + system", four, 8),
		units("hot parameter, 10,000 keys, all in the table", "hotspot-qps-10k-keys", 10),
		units("hot parameter, 1,000,000 numbers through a table of 20,000", "hotspot-qps-1m-numbers", 15),
		{
			what:  "hot parameter, 1,000,000 texts scattered in memory through a table of 20,000, less the reading of a text",
			rows:  []row{one(ours + "hotspot-qps-1m-keys"), one("base/scattered-text"), one("base/time-since")},
			value: func(v []float64) float64 { return v[0] - (v[1] - v[2]) }, limit: 15, unit: "units",
		},
		extra("an origin in use, more than no rule", "no-rule-origin"),
		extra("a named context in use, more than no rule", "no-rule-context"),
	}
}

func cores() []budget {
	scaling := func(what, name string, limit float64) budget {
		return budget{what: what, rows: []row{two(ours + name)}, value: first, limit: limit, unit: "of one core's time"}
	}
	return []budget{
		scaling("two cores on one resource, no rule", "no-rule", 0.75),
		scaling("two cores on one resource, one reject rule", reject, 0.75),
		scaling("two cores on 1,000 resources, no rule", "no-rule-1000-resources", 0.6),
		scaling("two cores on 1,000 resources, one reject rule each", "flow-reject-1000-resources", 0.6),
	}
}

func againstPeers() []budget {
	most := func(what, name, peer string, limit float64) budget {
		return budget{what: what, rows: []row{one(ours + name), one(peer)}, value: over, limit: limit, unit: "times"}
	}
	cheaper := func(what, name, peer string) budget {
		return budget{what: what, rows: []row{one(peer), one(ours + name)}, value: over, limit: 3, atLeast: true, unit: "times cheaper"}
	}
	return []budget{
		most("four kinds, over gobreaker's Execute", four, "gobreaker/execute", 1.7),
		most("one reject rule, over gobreaker's Execute", reject, "gobreaker/execute", 1),
		most("refused, over gobreaker's open circuit", block, "gobreaker/blocked-open", 1.2),
		cheaper("four kinds, against failsafe-go's executor with limiter, breaker and bulkhead", four, "failsafe/run-ratelimiter+breaker+bulkhead"),
		cheaper("one reject rule, against failsafe-go's executor with a bursty limiter", reject, "failsafe/run-ratelimiter-bursty"),
		cheaper("one reject rule, against failsafe-go's executor with a smooth limiter", reject, "failsafe/run-ratelimiter-smooth"),
	}
}

func againstSentinel() []budget {
	var all []budget
	add := func(label, name string, limit float64) {
		all = append(all, budget{
			what: name + ", against " + label, rows: []row{one(label + "/" + name), one(ours + name)},
			value: over, limit: limit, atLeast: true, unit: "times cheaper",
		})
	}
	for _, name := range []string{
		"no-rule", "no-rule-inbound-web", reject, "flow-throttling", "flow-warmup", block, "breaker-error-ratio", "isolation", four,
		"no-rule-1000-resources", reject + "-1000-resources", "breaker-1000-resources", four + "-1000-resources",
	} {
		add("sentinel-go", name, 6)
	}
	add("sentinel-go", "hotspot-qps-1-key", 4)
	add("sentinel-go", "hotspot-qps-10k-keys", 4)
	for _, name := range []string{reject, block, four} {
		add("sentinel-go-cached", name, 4)
	}
	return all
}

func memory() []budget {
	bytes := func(what, name string, limit float64) budget {
		return budget{what: what, rows: []row{figured("memory/" + name)}, value: first, limit: limit, unit: "B"}
	}
	return []budget{
		bytes("idle resource with no rule: three calls, 61 s, one maintenance pass", "idle-resource", 1024),
		bytes("resource with no rule straight after three calls", "touched-resource", 2048),
		bytes("resource with traffic through the last minute, two cores", "busy-resource", 8192),
		bytes("value of a hot parameter", "hot-value", 256),
		bytes("heap growth by 1,000,000 names through a cap of 10,000", "new-names-growth", 1<<20),
		bytes("heap growth from ten minutes to a day of 5,000 new names a minute", "day-of-new-names-growth", 1<<20),
		bytes("heap growth by eight replacements of 10,000 rules in use", "replaced-rules-growth", 1<<20),
	}
}

func others() []budget {
	figure := func(what, name string, limit float64, unit string) budget {
		return budget{what: what, rows: []row{figured(name)}, value: first, limit: limit, unit: unit}
	}
	gateway := figure("gateway's throughput, over that of the same proxy without rules", gatewayRatio, 0.9, "times")
	gateway.atLeast = true
	return []budget{
		figure("calls of 1,000,000 new names through a cap of 10,000, over calls of the 10,000", "time/new-names-ratio", 1.1, "times"),
		figure("loading 100,000 rules", "rules/load-100k", 2, "s"),
		figure("99.9th percentile of a call while 10,000 rules are replaced", "rules/update-10k-p99.9", 1, "ms"),
		figure("idle engine with 10,000 resources", "idle/cpu-10k-resources", 0.2, "% of a core"),
		gateway,
	}
}
