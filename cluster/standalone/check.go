package standalone

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/cluster/token"
)

// A ConfigError says what is wrong with a configuration, or with a file that it names. Nothing was served by it.
type ConfigError struct{ Err error }

// Error returns the text of Err, a line for each mistake.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// check says everything that is wrong with the settings themselves. Files are looked at when they are used.
func (c *Config) check() error {
	var all []error
	add := func(member, format string, args ...any) {
		all = append(all, fmt.Errorf("%s: %w", member, fmt.Errorf(format, args...)))
	}
	plain := (c.TLSCert == "" && c.SecretFile == "") && !c.Insecure
	for _, a := range []struct {
		member, address string
		open            bool // nobody is authenticated there, or nothing is encrypted
	}{
		{"listen", c.listen(), plain},
		{"admin", c.Admin, !c.Insecure},
		{"rls-listen", c.RLSListen, c.TLSCert == "" && !c.Insecure},
	} {
		if a.address == "" {
			continue
		}
		loopback, err := isLoopback(a.address)
		switch {
		case err != nil:
			add(a.member, "%w", err)
		case a.open && !loopback:
			add(a.member, "%s is not a loopback address, and anybody who reaches it could use it: set %s, or insecure to allow it",
				a.address, protections(a.member))
		}
	}
	c.checkSecurity(add)
	c.checkBindings(add)
	if _, err := c.limits(""); err != nil {
		all = append(all, err)
	}
	for name := range c.PerNamespace {
		if _, err := c.limits(name); err != nil {
			add("namespaces."+name, "%w", err)
		}
	}
	if c.MaxConns < 0 {
		add("max-conns-per-ip", "%d is negative; 0 means no limit", c.MaxConns)
	}
	if len(all) == 0 {
		return nil
	}
	return &ConfigError{errors.Join(all...)}
}

func protections(member string) string {
	switch member {
	case "listen":
		return "tls-cert and tls-key, or secret-file"
	case "rls-listen":
		return "tls-cert and tls-key"
	}
	return "a loopback address"
}

func (c *Config) checkSecurity(add func(member, format string, args ...any)) {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		add("tls-cert", "must be set together with tls-key")
	}
	if c.TLSClientCA != "" && c.TLSCert == "" {
		add("tls-client-ca", "needs tls-cert and tls-key")
	}
	if c.RLSListen != "" && len(c.RLSRules) == 0 {
		add("rls-listen", "needs rls-rules, the files with the limits")
	}
	if c.RLSListen == "" && len(c.RLSRules) > 0 {
		add("rls-rules", "needs rls-listen, the address of the service")
	}
}

func (c *Config) checkBindings(add func(member, format string, args ...any)) {
	for _, list := range []struct {
		member   string
		bindings Bindings
		needFile bool
	}{{"namespace", c.Namespaces, false}, {"param-namespace", c.ParamRules, true}} {
		seen := map[string]bool{}
		for _, b := range list.bindings {
			name, file := split(b)
			switch {
			case name == "":
				add(list.member, "%q has no name; write NAME=FILE", b)
			case file == "" && (list.needFile || strings.Contains(b, "=")):
				add(list.member, "%q has no file; write NAME=FILE", b)
			case seen[name]:
				add(list.member, "%s is there twice; keep one", name)
			}
			seen[name] = true
		}
	}
}

const mostPort = 1<<16 - 1

// isLoopback says whether only this machine reaches the address.
func isLoopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%q is not host:port: %w", address, err)
	}
	if number, err := strconv.ParseInt(port, 10, 64); (err == nil || errors.Is(err, strconv.ErrRange)) && (number < 0 || number > mostPort) {
		return false, fmt.Errorf("%q: the port must be 0 to %d", address, mostPort)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, fmt.Errorf("%q: there is no port %s", address, port)
	}
	if host == "localhost" {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}

// limits returns the settings of a namespace, "" for those of the server.
func (c *Config) limits(namespace string) (token.Config, error) {
	set := c.PerNamespace[namespace].merge(c.Limits)
	config := token.DefaultConfig()
	give(&config.MaxAllowedQPS, set.MaxQPS)
	give(&config.ExceedCount, set.ExceedCount)
	give(&config.MaxOccupyRatio, set.MaxOccupyRatio)
	give(&config.SampleCount, set.SampleCount)
	if set.Interval != nil {
		config.IntervalMs = int(time.Duration(*set.Interval) / time.Millisecond)
	}
	for _, v := range []struct {
		member string
		value  float64
	}{
		{"max-qps", config.MaxAllowedQPS}, {"exceed-count", config.ExceedCount}, {"max-occupy-ratio", config.MaxOccupyRatio},
	} {
		if !(v.value >= 0) {
			return config, fmt.Errorf("%s: %v is not allowed; it must be 0 or more", v.member, v.value)
		}
	}
	if config.IntervalMs <= 0 || config.SampleCount <= 0 || config.IntervalMs%config.SampleCount != 0 {
		return config, fmt.Errorf("interval, sample-count: %d ms cannot be cut into %d buckets of whole milliseconds",
			config.IntervalMs, config.SampleCount)
	}
	if err := config.Validate(); err != nil {
		return config, fmt.Errorf("interval, sample-count: %w", err)
	}
	return config, nil
}

func give[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
