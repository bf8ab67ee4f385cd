// Package envoyrls is Envoy's rate limit service, version 3: it answers the question whether a request may pass, which
// Envoy's rate limit filters, and whatever else speaks envoy.service.ratelimit.v3, ask over gRPC.
//
//	service := envoyrls.New()
//	if err := service.Load(ctx, "/etc/ratelimit"); err != nil { … }
//	server := envoyrls.NewServer(service)
//	addr, err := server.Listen(ctx, "127.0.0.1:8081")
//
// # Rule files
//
// Two formats are read, told apart by their content; a file has one domain. [Service.Load] watches files and directories.
// A file that turns bad leaves in force what it gave before.
//
// That of Sentinel's Envoy token server: a count per second for each list of keys and values, which a descriptor must
// have exactly, in this order.
//
//	domain: shop
//	descriptors:
//	  - resources:
//	      - {key: destination_cluster, value: checkout}
//	    count: 100
//
// That of envoyproxy/ratelimit: nested descriptors with rate_limit, unit (second, minute, hour, day, week, month, year),
// requests_per_unit, unlimited, name and replaces, with shadow_mode, quota_mode and share_threshold; also
// unit_multiplier, for a limit per so many units. detailed_metric and value_to_metric are accepted and mean nothing here.
// Unknown members are warnings.
//
//	domain: shop
//	descriptors:
//	  - key: path
//	    value: /api/*
//	    descriptors:
//	      - key: remote_address
//	        rate_limit: {unit: minute, requests_per_unit: 60}
//
// The entries of a request's descriptor lead down the levels one by one; the rule is that of the level where they end,
// and only there. At each level the most specific descriptor is taken, without going back: that of the value, that of the
// longest prefix (a value ending in *), that of the key alone. The last two have a counter for each value, with
// share_threshold one for the prefix.
//
// # Windows
//
// A limit admits its count in windows of one unit, aligned to multiples of the unit since the Unix epoch, UTC, as both
// originals have them: a week begins on Thursday, a month is 30 days and a year 365. Within a window admission is exact,
// however many ask at a time. Across the end of one, up to twice the count can pass in one unit of time.
//
// # Decisions
//
// A request asks for hits_addend hits of every descriptor, 0 standing for 1; a descriptor's own hits_addend counts
// before it, and there 0 only looks: it is over limit when nothing remains. With is_negative_hits the hits are given
// back. All descriptors are counted or none: if one is over limit, none of them is charged. A rule in shadow_mode counts,
// and never refuses; one in quota_mode shows OVER_LIMIT for its descriptor, but does not refuse the request. A limit that
// a descriptor brings takes the place of the rule's, within domains that have rules. limit_remaining is 0 with
// OVER_LIMIT; duration_until_reset is rounded up to whole seconds.
//
// Counters are kept by domain and entries in full, never by a hash that could collide by chance. They live in memory:
// one server counts for all its clients, and a restart begins anew.
package envoyrls
