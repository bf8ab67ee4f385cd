package document

import (
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
)

// DetectKind returns the kind of an array of rules by the names of its members. The first of these that any element
// has decides for the whole array: timeWindow: degrade; paramIdx or paramKey: param; a name that starts with
// "highest", maxThread, avgRt or qps: system; intervalSec, resourceMode, paramItem, burst or maxQueueingTimeoutMs:
// gateway; apiName: api; threshold, triggerCount or retryTimeoutMs: a kind of sentinel-golang's; limitApp in an
// element without count: authority; else flow. Text that is no array of objects counts as flow.
func DetectKind(content []byte) chain.Kind {
	t := bare(content)
	if len(t.json) == 0 || t.check() != nil || !t.root().isArray() {
		return chain.KindFlow
	}
	return detect(t.root().elements())
}

func detect(elements []node) chain.Kind {
	names := make([][]string, len(elements))
	for i, element := range elements {
		names[i] = element.names()
	}
	has := func(wanted ...string) bool {
		return slices.ContainsFunc(names, func(own []string) bool { return hasAny(own, wanted...) })
	}
	highest := func(name string) bool { return strings.HasPrefix(name, "highest") }
	switch {
	case has("timeWindow"):
		return chain.KindDegrade
	case has("paramIdx", "paramKey"):
		return chain.KindParam
	case has("maxThread", "avgRt", "qps"), slices.ContainsFunc(names, func(own []string) bool { return slices.ContainsFunc(own, highest) }):
		return chain.KindSystem
	case has("intervalSec", "resourceMode", "paramItem", "burst", "maxQueueingTimeoutMs"):
		return chain.KindGateway
	case has("apiName"):
		return chain.KindAPI
	case has("threshold", "triggerCount", "retryTimeoutMs"):
		return golangKind(has)
	case slices.ContainsFunc(names, func(own []string) bool { return hasAny(own, "limitApp") && !hasAny(own, "count") }):
		return chain.KindAuthority
	}
	return chain.KindFlow
}

// golangKind tells sentinel-golang's kinds apart.
func golangKind(has func(...string) bool) chain.Kind {
	switch {
	case has("triggerCount"):
		return chain.KindSystem
	case has("retryTimeoutMs", "maxAllowedRtMs", "minRequestAmount", "statSlidingWindowBucketCount"):
		return chain.KindDegrade
	case has("paramIndex", "specificItems", "durationInSec", "burstCount", "paramsMaxCapacity"):
		return chain.KindParam
	case has("metricType"):
		return chain.KindIsolation
	}
	return chain.KindFlow
}

func hasAny(own []string, wanted ...string) bool {
	return slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(own, name) })
}

// names returns the names of an object's members, nil for other values.
func (n node) names() []string {
	if !n.isObject() {
		return nil
	}
	var list []string
	for _, m := range n.members() {
		list = append(list, m.name)
	}
	return list
}
