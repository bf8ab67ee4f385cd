package document

import (
	"errors"
	"slices"
	"strconv"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document/internal/golang"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// dialect returns the member that shows that the elements are written in sentinel-golang's dialect, "" if none does.
func dialect(elements []node) string {
	for _, element := range elements {
		for _, name := range element.names() {
			switch name {
			case "threshold", "triggerCount", "retryTimeoutMs":
				return name
			}
		}
	}
	return ""
}

// sentinelOnly lists the members by which Sentinel's rules differ from sentinel-golang's.
func sentinelOnly() []string {
	return []string{
		"count", "grade", "limitApp", "clusterMode", "clusterConfig", "timeWindow", "slowRatioThreshold",
		"paramIdx", "paramFlowItemList", "highestSystemLoad", "highestCpuUsage", "qps", "avgRt", "maxThread",
		"intervalSec", "resourceMode", "paramItem", "burst", "maxQueueingTimeoutMs", "apiName", "predicateItems",
	}
}

// readDialect reads an element of a list in which marker was found. One that mixes the dialects has no warnings: in one
// of the two they would be wrong.
func readDialect[R any](element node, marker string, sentinel, golang reader[R]) (rule R, warnings []string, err error) {
	if golang == nil {
		rule, _, _ = sentinel(element.raw)
		return rule, nil, chain.Refuse(marker, "is a member of sentinel-golang's rules, which do not have this kind")
	}
	names := element.names()
	if names == nil {
		return sentinel(element.raw) // no object: the same error in both dialects
	}
	for _, name := range sentinelOnly() {
		if slices.Contains(names, name) {
			rule, _, _ = sentinel(element.raw)
			return rule, nil, chain.Refuse(name, "is Sentinel's, while %s in this list is sentinel-golang's; use one of the two dialects", marker)
		}
	}
	return golang(element.raw)
}

// golangHead reads what all of sentinel-golang's rules have, and this project's additions.
func golangHead(o *rulejson.Object, pattern bool) rulejson.Common {
	id := ""
	if text, there := o.Text("id"); there {
		id = text
	}
	c := o.Without("id").Remarks()
	o.String("resource", &c.Resource)
	if pattern {
		if o.Bool("regex", &c.Regex); c.Regex {
			c.Resource = golang.Anchored(c.Resource)
		}
	}
	if id == "" {
		return c
	}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		c.ID = n
	} else {
		o.Warn("id %q is no number and is left out", id)
	}
	return c
}

// unsigned reads a number that sentinel-golang has as an unsigned integer.
func unsigned(o *rulejson.Object, name string) int64 {
	var n int64
	if o.Int64(name, &n); n < 0 {
		o.Refuse(name, "must not be negative: %d", n)
	}
	return n
}

// choice reads a number that must be one of 0, 1, ... most.
func choice(o *rulejson.Object, name string, most int) int {
	n := 0
	if o.Int(name, &n); n < 0 || n > most {
		o.Refuse(name, "%d is not one of 0 to %d", n, most)
		return 0
	}
	return n
}

// inGolang gives the member at fault its name in sentinel-golang's dialect.
func inGolang(err error) error {
	at, ok := errors.AsType[*chain.MemberError](err)
	if !ok {
		return err
	}
	own := *at
	switch at.Member {
	case "count", "slowRatioThreshold":
		own.Member = "threshold"
	case "timeWindow":
		own.Member = "retryTimeoutMs"
	case "paramIdx":
		own.Member = "paramIndex"
	case "strategy":
		own.Member = "relationStrategy"
	}
	return &own
}
