package standalone

import (
	"time"
)

// Defaults of the settings.
const (
	DefaultListen = "127.0.0.1:18730"
	DefaultIdle   = 600 * time.Second
)

// Config is what a token server serves, and where. Its members are spelt in the configuration file as the command's
// flags without the dash. A zero value is the default.
type Config struct {
	Listen       string   `yaml:"listen"`          // host:port; "": DefaultListen; port 0: any free one
	Namespaces   Bindings `yaml:"namespace"`       // NAME or NAME=FILE, the file with the namespace's flow rules
	ParamRules   Bindings `yaml:"param-namespace"` // NAME=FILE, the file with the namespace's parameter rules
	Limits       `yaml:",inline"`
	PerNamespace map[string]Limits `yaml:"namespaces"` // what differs in a namespace
	Idle         Duration          `yaml:"idle"`       // after which a silent client is dropped; 0: DefaultIdle
	MaxConns     int               `yaml:"max-conns-per-ip"`
	Compat       bool              `yaml:"compat"` // decide exactly as Sentinel's server

	TLSCert     string `yaml:"tls-cert"`      // PEM file; with TLSKey: TLS only
	TLSKey      string `yaml:"tls-key"`       // PEM file
	TLSClientCA string `yaml:"tls-client-ca"` // PEM file; clients must show a certificate of these authorities
	SecretFile  string `yaml:"secret-file"`   // clients must know its content
	Insecure    bool   `yaml:"insecure"`      // allow plaintext without a secret on other addresses than loopback

	Admin     string   `yaml:"admin"`      // host:port of /status and /metrics; "": none
	RLSListen string   `yaml:"rls-listen"` // host:port of the Envoy rate limit service; "": none
	RLSRules  Bindings `yaml:"rls-rules"`  // files or directories with its rules

	dir string // of the configuration file: what its file names are relative to
}

// Limits are the settings of a namespace. A nil member leaves it to the server's, and there to the default.
type Limits struct {
	MaxQPS         *float64  `yaml:"max-qps"`          // requests per second of the namespace; default 30000
	ExceedCount    *float64  `yaml:"exceed-count"`     // factor of thresholds; default 1
	MaxOccupyRatio *float64  `yaml:"max-occupy-ratio"` // share of a threshold that may wait; default 1
	Interval       *Duration `yaml:"interval"`         // window of rules that do not say theirs; default 1s
	SampleCount    *int      `yaml:"sample-count"`     // its buckets; default 10
}

// merge returns the limits with what is not set taken from the others.
func (l Limits) merge(other Limits) Limits {
	take(&l.MaxQPS, other.MaxQPS)
	take(&l.ExceedCount, other.ExceedCount)
	take(&l.MaxOccupyRatio, other.MaxOccupyRatio)
	take(&l.Interval, other.Interval)
	take(&l.SampleCount, other.SampleCount)
	return l
}

func take[T any](to **T, from *T) {
	if *to == nil {
		*to = from
	}
}

func (c *Config) listen() string {
	if c.Listen == "" {
		return DefaultListen
	}
	return c.Listen
}

func (c *Config) idle() time.Duration {
	if c.Idle == 0 {
		return DefaultIdle
	}
	return time.Duration(c.Idle)
}

// served returns the namespaces that the configuration names, some of them twice.
func (c *Config) served() (names []string) {
	for _, list := range []Bindings{c.Namespaces, c.ParamRules} {
		for _, b := range list {
			name, _ := split(b)
			names = append(names, name)
		}
	}
	return names
}
