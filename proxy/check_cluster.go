package proxy

import (
	"math"
	"strings"
	"time"
)

func (c *Config) checkCluster(p *problems) {
	k := c.Cluster
	if k == nil || p.about("cluster") {
		return
	}
	k.checkClient(p)
	k.checkSecurity(p, c.source)
	if k.Embedded != nil && !p.about("cluster.embedded") {
		k.checkEmbedded(p)
	}
}

func (c *Cluster) checkClient(p *problems) {
	if _, _, err := splitAddress(c.Server); c.Server != "" && err != nil {
		p.add("cluster.server", "%v", err)
	} else if strings.HasPrefix(c.Server, ":") {
		p.add("cluster.server", "must name the host of the token server, not only %q", c.Server)
	}
	if c.Namespace != "" && strings.TrimSpace(c.Namespace) == "" {
		p.add("cluster.namespace", "must not be blank")
	}
	if _, err := c.identity(); err != nil {
		p.add("cluster.identity", "%v", err)
	}
	if d := c.Timeout; d != nil && (*d < Duration(time.Millisecond) || *d%Duration(time.Millisecond) != 0 || *d > Duration(time.Hour)) {
		p.add("cluster.timeout", "must be whole milliseconds from 1ms to 1h, not %v", time.Duration(*d))
	}
	if n := c.MaxTimeouts; n != nil && *n < 0 {
		p.add("cluster.maxTimeouts", "must be at least 0, not %d", *n)
	}
}

func (c *Cluster) checkSecurity(p *problems, from source) {
	if c.SecretFile != "" {
		if _, err := readSecret(from.path(c.SecretFile)); err != nil {
			p.add("cluster.secretFile", "%v", err)
		}
	}
	t := c.TLS
	if t == nil || p.within("cluster.tls") {
		return
	}
	switch {
	case t.Cert == "" && t.Key != "":
		p.add("cluster.tls.cert", "is missing; give the certificate of cluster.tls.key")
	case t.Cert == "" && c.Embedded != nil:
		p.add("cluster.tls.cert", "is missing; an embedded token server needs a certificate")
	case t.Cert != "" && t.Key == "":
		p.add("cluster.tls.key", "is missing; give the key of cluster.tls.cert")
	default:
		t.checkFiles(p, from)
	}
}

// checkFiles tries each file by itself.
func (t *ClusterTLS) checkFiles(p *problems, from source) {
	for member, part := range map[string]ClusterTLS{
		"cluster.tls.ca": {CA: t.CA}, "cluster.tls.cert": {Cert: t.Cert, Key: t.Key}, "cluster.tls.clientCA": {ClientCA: t.ClientCA},
	} {
		if _, err := part.config(from); err != nil {
			p.add(member, "%v", err)
		}
	}
}

func (c *Cluster) checkEmbedded(p *problems) {
	e := c.Embedded
	switch {
	case c.Server != "" && e.Machine == "" && !p.about("cluster.embedded.machine"):
		p.add("cluster.embedded.machine", "is missing: with cluster.server too, it must name the gateway that is the token server by its identity; the others ask it")
	case c.Server == "" && e.Machine != "" && !p.about("cluster.server"):
		p.add("cluster.server", "is missing; the gateways that are not cluster.embedded.machine need the address of that one")
	}
	c.checkListen(p)
	if d := e.Idle; d != nil && (*d < Duration(time.Second) || *d%Duration(time.Second) != 0 || *d > Duration(math.MaxInt32*time.Second)) {
		p.add("cluster.embedded.idle", "must be whole seconds, at least 1s, not %v", time.Duration(*d))
	}
	if e.MaxConnsPerIP < 0 {
		p.add("cluster.embedded.maxConnsPerIP", "must not be negative, not %d", e.MaxConnsPerIP)
	}
	for member, value := range map[string]*float64{"maxQps": e.MaxQPS, "exceedCount": e.ExceedCount, "maxOccupyRatio": e.MaxOccupyRatio} {
		if value != nil && (*value < 0 || math.IsInf(*value, 0) || math.IsNaN(*value)) {
			p.add("cluster.embedded."+member, "must be a number of at least 0, not %v", *value)
		}
	}
}

// checkListen refuses a token server that strangers reach and may use.
func (c *Cluster) checkListen(p *problems) {
	const member = "cluster.embedded.listen"
	e := c.Embedded
	if p.about(member) || p.about("cluster.server") {
		return
	}
	if _, _, err := splitAddress(e.Listen); e.Listen != "" && err != nil {
		p.add(member, "%v", err)
		return
	}
	if _, _, err := splitAddress(c.Server); e.Listen == "" && c.Server != "" && err != nil {
		return
	}
	if p.within("cluster.tls") || p.about("cluster.secretFile") || p.about("cluster.embedded.insecure") {
		return
	}
	if host, _ := c.listen(); c.open() && !e.Insecure && !isLoopback(host) {
		p.add(member, "%s is not a loopback address, and whoever reaches it could use up the limits: set cluster.tls or cluster.secretFile, or cluster.embedded.insecure to allow it", shownHost(host))
	}
}

func shownHost(host string) string {
	if host == "" {
		return "every address of the host"
	}
	return host
}
