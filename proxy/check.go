package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tidegate-go/tidegate/stat"
)

// check notes everything wrong with the configuration.
func (c *Config) check(p *problems) {
	c.checkListen(p)
	c.checkTLS(p)
	c.checkUpstreams(p)
	c.checkRoutes(p)
	c.checkRules(p)
	c.checkCaller(p)
	c.checkBlock(p)
	c.checkTimes(p)
	c.checkEngine(p)
	c.checkCluster(p)
}

func (c *Config) checkListen(p *problems) {
	if p.about("listen") {
		return
	}
	if c.Listen == "" {
		p.add("listen", "is missing; give the address to listen on, such as 127.0.0.1:8080")
		return
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		p.add("listen", "must be host:port with a port from 0 to 65535, not %q", c.Listen)
	}
}

func (c *Config) checkTLS(p *problems) {
	if c.TLS == nil || p.about("tls") {
		return
	}
	missing := false
	for member, value := range map[string]string{"tls.cert": c.TLS.Cert, "tls.key": c.TLS.Key} {
		if value == "" {
			p.add(member, "is missing; give a PEM file")
			missing = true
		}
	}
	if missing {
		return
	}
	if _, err := c.certificate(); err != nil {
		p.add("tls.cert", "%v", err)
	}
	if c.TLS.ClientCA != "" {
		if _, err := c.clientCAs(); err != nil {
			p.add("tls.clientCA", "%v", err)
		}
	}
}

func (c *Config) certificate() (tls.Certificate, error) {
	return tls.LoadX509KeyPair(c.source.path(c.TLS.Cert), c.source.path(c.TLS.Key))
}

func (c *Config) clientCAs() (*x509.CertPool, error) {
	return readAuthorities(c.source.path(c.TLS.ClientCA))
}

// readAuthorities returns the certificates in a PEM file.
func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := readFile(file, maxConfig)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, errors.New("has no certificate in PEM form")
	}
	return pool, nil
}

func (c *Config) checkRules(p *problems) {
	first := map[string]int{}
	for i, name := range c.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		file := filepath.Clean(c.source.path(name))
		switch before, again := first[file]; {
		case p.about(at):
		case name == "":
			p.add(at, "must be the path of a file")
		case again:
			p.add(at, "%s is rules[%d] already", name, before)
		default:
			first[file] = i
			if err := checkRuleFile(file); err != nil {
				p.add(at, "%v", err)
			}
		}
	}
}

func (c *Config) checkCaller(p *problems) {
	given := 0
	for _, is := range []bool{c.Origin.Header != "", c.Origin.ClientIP, c.Origin.TLS != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		p.add("origin", "must have one of header, clientIP and tls, not %d", given)
	case c.Origin.Header != "" && !isToken(c.Origin.Header):
		p.add("origin.header", "%q is no name of a header", c.Origin.Header)
	case c.Origin.TLS != "" && c.Origin.TLS != "subject" && c.Origin.TLS != "name":
		p.add("origin.tls", "must be subject or name, not %q", c.Origin.TLS)
	case c.Origin.TLS != "" && (c.TLS == nil || c.TLS.ClientCA == ""):
		p.add("origin.tls", "needs tls.clientCA, without which clients show no certificate")
	}
	c.checkArgs(p)
	for i, text := range c.TrustedProxies {
		at := fmt.Sprintf("trustedProxies[%d]", i)
		if _, err := parseNetwork(text); err != nil && !p.about(at) {
			p.add(at, "%v", err)
		}
	}
}

// parseNetwork reads a network such as 10.0.0.0/8, or an address.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return network, fmt.Errorf("must be a network such as 10.0.0.0/8 or an address, not %q", text)
	}
	return network.Masked(), nil
}

func (c *Config) checkBlock(p *problems) {
	if p.about("block") {
		return
	}
	if s := c.Block.Status; s != 0 && (s < 400 || s > 599) {
		p.add("block.status", "must be from 400 to 599, not %d", s)
	}
	if c.Block.ContentType != "" && c.Block.Body == "" {
		p.add("block.contentType", "is of block.body, which is missing")
	}
}

func (c *Config) checkTimes(p *problems) {
	checkTime(p, "timeouts.readHeader", c.Timeouts.ReadHeader)
	checkTime(p, "timeouts.idle", c.Timeouts.Idle)
	checkTime(p, "timeouts.shutdown", c.Timeouts.Shutdown)
	if c.Limits.Header != nil && *c.Limits.Header < 256 && !p.about("limits.header") {
		p.add("limits.header", "must be at least 256 bytes, not %d", *c.Limits.Header)
	}
}

func checkTime(p *problems, member string, d *Duration) {
	if d != nil && *d < 0 {
		p.add(member, "must not be negative, not %v", time.Duration(*d))
	}
}

func (c *Config) checkEngine(p *problems) {
	e := &c.Engine
	if p.about("engine") {
		return
	}
	interval, buckets := e.window()
	if buckets < 1 {
		p.add("engine.buckets", "must be at least 1, not %d", buckets)
	}
	if interval <= 0 {
		p.add("engine.interval", "must be above 0, not %v", interval)
	} else if _, err := stat.NewShape(interval, max(buckets, 1)); err != nil {
		p.add("engine.interval", "%v", err)
	}
	if d := e.OccupyTimeout; d != nil && interval > 0 && (*d < 0 || time.Duration(*d) > interval) {
		p.add("engine.occupyTimeout", "must be from 0 to the interval of %v, not %v", interval, time.Duration(*d))
	}
	if n := e.ColdFactor; n != nil && *n < 2 {
		p.add("engine.coldFactor", "must be at least 2, not %d", *n)
	}
}

func (e *Engine) window() (interval time.Duration, buckets int) {
	return time.Duration(or(e.Interval, Duration(time.Second))), or(e.Buckets, 2)
}
