package rulejson

import "github.com/tidegate-go/tidegate/chain"

// Cluster reads clusterMode and clusterConfig. Explicit zeros that are no values are refused only in
// cluster mode: without it the object is kept and not looked at.
func (o *Object) Cluster(mode *bool) *chain.ClusterConfig {
	o.Bool("clusterMode", mode)
	in, done, ok := o.Object("clusterConfig")
	if !ok {
		return nil
	}
	defer done()
	c := &chain.ClusterConfig{}
	in.Int64("flowId", &c.FlowID)
	Enum(in, "thresholdType", &c.ThresholdType, chain.ThresholdPerClient, chain.ThresholdGlobal)
	in.OptionalBool("fallbackToLocalWhenFail", &c.FallbackToLocalWhenFail)
	in.Int("strategy", &c.Strategy)
	in.Int("sampleCount", &c.SampleCount)
	in.Int("windowIntervalMs", &c.WindowIntervalMs)
	in.Int64("resourceTimeout", &c.ResourceTimeout)
	in.Int("resourceTimeoutStrategy", &c.ResourceTimeoutStrategy)
	in.Int("acquireRefuseStrategy", &c.AcquireRefuseStrategy)
	in.Int64("clientOfflineTime", &c.ClientOfflineTime)
	in.OptionalFloat("fallbackCount", &c.FallbackCount)
	if _, there := in.take("fallbackPolicy"); there {
		name := ""
		in.String("fallbackPolicy", &name)
		policy, err := chain.ParseFallbackPolicy(name)
		if err != nil {
			in.Refuse("fallbackPolicy", "%v", err)
		}
		c.FallbackPolicy = policy
	}
	if *mode {
		in.Set("sampleCount", int64(c.SampleCount), 10)
		in.Set("windowIntervalMs", int64(c.WindowIntervalMs), 1000)
		in.Set("resourceTimeout", c.ResourceTimeout, 2000)
		in.Set("clientOfflineTime", c.ClientOfflineTime, 2000)
	}
	return c
}

// CheckCluster validates the cluster part of a rule in cluster mode.
func CheckCluster(c *chain.ClusterConfig) error {
	if c == nil {
		return chain.Refuse("clusterConfig", "is needed in cluster mode")
	}
	if c.FlowID <= 0 {
		return chain.Refuse("clusterConfig.flowId", "must be above 0, not %d", c.FlowID)
	}
	if c.ThresholdType > chain.ThresholdGlobal {
		return chain.Refuse("clusterConfig.thresholdType", "%d is not one of 0, 1", c.ThresholdType)
	}
	if c.Strategy != 0 {
		return chain.Refuse("clusterConfig.strategy", "must be 0, not %d", c.Strategy)
	}
	if c.FallbackPolicy > chain.FallbackBlock {
		return chain.Refuse("clusterConfig.fallbackPolicy", "%v is not one of share, local, pass, block", c.FallbackPolicy)
	}
	for _, part := range []struct {
		name  string
		value int64
	}{
		{"sampleCount", int64(c.SampleCount)},
		{"windowIntervalMs", int64(c.WindowIntervalMs)},
		{"resourceTimeout", c.ResourceTimeout},
		{"clientOfflineTime", c.ClientOfflineTime},
		{"resourceTimeoutStrategy", int64(c.ResourceTimeoutStrategy)},
		{"acquireRefuseStrategy", int64(c.AcquireRefuseStrategy)},
	} {
		if err := CheckRange("clusterConfig."+part.name, part.value); err != nil {
			return err
		}
	}
	if c.Window()%c.Samples() != 0 {
		return chain.Refuse("clusterConfig.sampleCount", "%d does not divide windowIntervalMs %d", c.Samples(), c.Window())
	}
	if c.FallbackCount != nil {
		return CheckCount("clusterConfig.fallbackCount", *c.FallbackCount)
	}
	return nil
}

// SameCluster compares two cluster parts with their defaults filled in.
func SameCluster(a, b *chain.ClusterConfig) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.FlowID == b.FlowID && a.ThresholdType == b.ThresholdType && a.Fallback() == b.Fallback() &&
		a.Strategy == b.Strategy && a.Samples() == b.Samples() && a.Window() == b.Window() &&
		a.TokenTimeout() == b.TokenTimeout() && a.OfflineTimeout() == b.OfflineTimeout() &&
		a.ResourceTimeoutStrategy == b.ResourceTimeoutStrategy && a.AcquireRefuseStrategy == b.AcquireRefuseStrategy &&
		SameValue(a.FallbackCount, b.FallbackCount)
}

// CopyCluster returns a deep copy, nil for nil.
func CopyCluster(c *chain.ClusterConfig) *chain.ClusterConfig {
	if c == nil {
		return nil
	}
	own := *c
	own.FallbackToLocalWhenFail = Copy(c.FallbackToLocalWhenFail)
	own.FallbackCount = Copy(c.FallbackCount)
	return &own
}

// Cluster is the JSON of a cluster part; zero members are left out.
type Cluster struct {
	FlowID                  int64   `json:"flowId"`
	ThresholdType           int     `json:"thresholdType"`
	FallbackToLocalWhenFail *bool   `json:"fallbackToLocalWhenFail,omitempty"`
	Strategy                int     `json:"strategy,omitempty"`
	SampleCount             int     `json:"sampleCount"`
	WindowIntervalMs        int     `json:"windowIntervalMs"`
	ResourceTimeout         int64   `json:"resourceTimeout,omitempty"`
	ResourceTimeoutStrategy int     `json:"resourceTimeoutStrategy,omitempty"`
	AcquireRefuseStrategy   int     `json:"acquireRefuseStrategy,omitempty"`
	ClientOfflineTime       int64   `json:"clientOfflineTime,omitempty"`
	FallbackPolicy          string  `json:"fallbackPolicy,omitempty"`
	FallbackCount           *Number `json:"fallbackCount,omitempty"`
}

// ClusterJSON returns the JSON form of a cluster part, nil for nil.
func ClusterJSON(c *chain.ClusterConfig) *Cluster {
	if c == nil {
		return nil
	}
	return &Cluster{
		FlowID: c.FlowID, ThresholdType: c.ThresholdType.Number(), FallbackToLocalWhenFail: c.FallbackToLocalWhenFail,
		Strategy: c.Strategy, SampleCount: c.Samples(), WindowIntervalMs: c.Window(),
		ResourceTimeout: c.ResourceTimeout, ResourceTimeoutStrategy: c.ResourceTimeoutStrategy,
		AcquireRefuseStrategy: c.AcquireRefuseStrategy, ClientOfflineTime: c.ClientOfflineTime,
		FallbackPolicy: c.FallbackPolicy.String(), FallbackCount: (*Number)(c.FallbackCount),
	}
}
