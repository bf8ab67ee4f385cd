// Package stat counts what happens to guarded calls.
//
// A [Node] counts the calls of one scope: a resource within a context, a resource for an origin, or all
// inbound calls. A [Resource] is the sum over its contexts. A call writes only the current bucket of its
// nodes' rings; seconds and minutes are sums that readers and bucket changes make.
//
// What rules need exactly, not just eventually, lives in words of its own: a [Window] counts admissions,
// a [Gate] calls in flight. They exist only where a rule asked for them.
//
// # What many cores write
//
// The cache lines that one admitted call writes, and who else writes them:
//
//	the caller's pooled record     nobody: a record belongs to one call, and pools are per core
//	the bucket of each node        one core, once the node is inflated; before, whoever calls the resource. One word at
//	                               entry and one at exit, in each of these: resource within its context, resource for
//	                               its origin, inbound total
//	a Window's first line          every caller of the scope: one compare-and-swap per admission, none per refusal. Once
//	                               callers met on the call's node, and far from the limit, one admission in some 64
//	a Window's stocks              one core each, once callers met: one compare-and-swap per admission, none per refusal
//	a Gate's line                  every caller of the scope, at entry and at exit
//	a breaker's bucket             every caller of the resource, one addition at exit
//	a hot value's line             every caller with that value
//
// All else that a call looks at (tables of names, plans, rules, rings, limits) is read-only until rules change, so
// each core keeps a copy. A call without rules therefore costs the same on 64 cores as on one, and so do calls of
// different resources, whatever their rules, and calls of one resource far from the limit of its rate. Near that limit,
// which is within 256 units for each core, they pass its word round: a core gets the line for about a hundred ns, so
// such a resource admits some ten million calls per second, however many cores call it; refused calls only read and do
// not slow the admitted ones down. That is what an exact limit costs where it matters.
//
// The test TestCacheLinesOfManyCores simulates 64 cores and checks this table line by line; TestManyCores runs many
// more callers than cores at 1 to 64 processors and checks that nothing is lost or admitted twice.
//
// The model (leap array of time buckets, node kinds, derived figures) is that of Alibaba Sentinel.
package stat
