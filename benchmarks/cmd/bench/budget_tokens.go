package main

// tokenService has the limits on the token server, beside a server that decides nothing, and on the token client, beside a
// load that does nothing else than ask.
func tokenService() []budget {
	most := func(what, name string, limit float64) budget {
		return budget{what: what, rows: []row{figured("tokens/" + name)}, value: first, limit: limit, unit: "times"}
	}
	least := func(what, name string, limit float64) budget {
		b := most(what, name, limit)
		b.atLeast = true
		return b
	}
	var all []budget
	for _, shape := range []struct{ name, text string }{{"1x64", "1 connection, 64 in flight"}, {"16x16", "16 connections, 16 in flight each"}} {
		all = append(all,
			least("token server, "+shape.text+": requests per second, over those of an echo server", shape.name+"-rate", 0.7),
			most("token server, "+shape.text+": CPU time per request, over an echo server's", shape.name+"-cpu", 1.4),
			most("token server, "+shape.text+": 99th percentile, over an echo server's", shape.name+"-p99", 1.5))
	}
	return append(all,
		least("token server: requests per second for 10,000 flow ids, over those for one", "10k-ids-rate", 0.9),
		least("token server: requests per second for 1,000,000 values through a table of 20,000, over those for one", "1m-values-rate", 0.7),
		most("token client, 64 callers on a connection: CPU time per call, over that of a bare load", "client-cpu", 4),
		least("token client, 64 callers coalescing: calls per request on the wire", "coalescing", 5))
}
