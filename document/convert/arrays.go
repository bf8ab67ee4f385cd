package convert

import (
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// foreign lists the members of a rule that Sentinel's agents ignore, and without which it means something else. They
// stay in the array, where this project reads them.
func (c *conversion) foreign(e element, rule any) {
	if c.form != Arrays {
		return
	}
	switch r := rule.(type) {
	case flow.Rule:
		c.foreignFlow(e, r)
	case circuitbreaker.Rule:
		c.foreignBreaker(e, r)
	case hotspot.Rule:
		if r.ParamKey != "" {
			c.lack(e, "paramKey", "Sentinel's agents find a parameter by paramIdx only")
		}
		c.foreignCluster(e, r.ClusterMode, r.ClusterConfig)
	case authority.Rule:
		if r.Strict {
			c.lack(e, "strict", "Sentinel's agents let calls without an origin pass")
		}
	}
}

func (c *conversion) foreignFlow(e element, r flow.Rule) {
	const usual, usualBuckets = 1000, 2 // of the window that Sentinel's agents count in
	if r.StatIntervalInMs != 0 && r.StatIntervalInMs != usual {
		c.lack(e, "statIntervalInMs", "Sentinel's agents take the count as one per second")
	}
	if r.StatBucketCount != 0 && r.StatBucketCount != usualBuckets {
		c.lack(e, "statBucketCount", "Sentinel's agents have a window of %d buckets for all flow rules", usualBuckets)
	}
	if r.MemoryAdaptive() {
		c.lack(e, "lowMemUsageThreshold", "Sentinel's agents know no thresholds that follow the memory, and use the count, %v", r.Count)
	}
	c.foreignCluster(e, r.ClusterMode, r.ClusterConfig)
}

func (c *conversion) foreignBreaker(e element, r circuitbreaker.Rule) {
	if r.StatBucketCount > 1 {
		c.lack(e, "statBucketCount", "Sentinel's agents have one bucket for the whole window of a breaker")
	}
	if r.Probes() > 1 {
		c.lack(e, "probeNum", "Sentinel's agents send one probe and close after it")
	}
	if r.ProbeTimeout() != r.RecoveryTime() {
		c.lack(e, "probeTimeoutMs", "Sentinel's agents do not know it")
	}
}

// foreignCluster lists a fallback that fallbackToLocalWhenFail does not say too.
func (c *conversion) foreignCluster(e element, on bool, cluster *chain.ClusterConfig) {
	if !on || cluster == nil {
		return
	}
	local := cluster.FallbackToLocalWhenFail
	switch cluster.FallbackPolicy {
	case chain.FallbackUnset:
	case chain.FallbackLocal:
		if local == nil || !*local {
			c.lack(e, "clusterConfig.fallbackPolicy", "Sentinel's agents know fallbackToLocalWhenFail only; set it to true as well")
		}
	case chain.FallbackPass:
		if local == nil || *local {
			c.lack(e, "clusterConfig.fallbackPolicy", "Sentinel's agents know fallbackToLocalWhenFail only; set it to false as well")
		}
	case chain.FallbackShare, chain.FallbackBlock:
		c.lack(e, "clusterConfig.fallbackPolicy", "Sentinel's agents cannot fall back to %q", cluster.FallbackPolicy)
	}
	if cluster.FallbackCount != nil {
		c.lack(e, "clusterConfig.fallbackCount", "Sentinel's agents fall back to the rule's count")
	}
}
