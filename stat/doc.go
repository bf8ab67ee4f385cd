// Package stat counts what happens to guarded calls.
//
// A [Node] counts the calls of one scope: a resource within a context, a resource for an origin, or all
// inbound calls. A [Resource] is the sum over its contexts. A call writes only the current bucket of its
// nodes' rings; seconds and minutes are sums that readers and bucket changes make.
//
// What rules need exactly, not just eventually, lives in words of its own: a [Window] counts admissions,
// a [Gate] calls in flight. They exist only where a rule asked for them.
//
// The model (leap array of time buckets, node kinds, derived figures) is that of Alibaba Sentinel.
package stat
