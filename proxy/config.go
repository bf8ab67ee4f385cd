package proxy

import "time"

// Config is what a server does. A zero value of an optional member means its default. Load reads one from a file;
// a Config made in Go is checked by New.
type Config struct {
	Listen    string     `yaml:"listen"`    // host:port; port 0: any free one
	TLS       *TLS       `yaml:"tls"`       // nil: plain HTTP
	Upstreams []Upstream `yaml:"upstreams"` // at least one
	Routes    []Route    `yaml:"routes"`    // at least one
	Rules     []string   `yaml:"rules"`     // files, JSON or (.yaml, .yml) YAML; relative to the configuration file

	Origin         Origin   `yaml:"origin"`         // who the caller is; zero: unknown
	Args           []string `yaml:"args"`           // for hot parameters, beside path wildcards: query:NAME, header:NAME, cookie:NAME, ip
	TrustedProxies []string `yaml:"trustedProxies"` // networks or addresses whose X-Forwarded-For is believed
	Forwarded      bool     `yaml:"forwarded"`      // they write Forwarded (RFC 7239) instead

	Block    Block    `yaml:"block"`
	Timeouts Timeouts `yaml:"timeouts"`
	Limits   Limits   `yaml:"limits"`
	Engine   Engine   `yaml:"engine"`
	Cluster  *Cluster `yaml:"cluster"` // nil: only what rule documents say of it

	source source
}

// TLS is the server's certificate.
type TLS struct {
	Cert     string `yaml:"cert"`     // PEM file with the chain
	Key      string `yaml:"key"`      // PEM file
	ClientCA string `yaml:"clientCA"` // PEM file; clients must show a certificate of these authorities. "": no certificates
}

// Upstream is a service with one or more instances.
type Upstream struct {
	Name         string    `yaml:"name"`
	URLs         []string  `yaml:"urls"`         // http or https, host, optional port and path
	PreserveHost bool      `yaml:"preserveHost"` // send the client's Host header instead of the URL's host
	Dial         *Duration `yaml:"dialTimeout"`  // nil: 5s; 0: none
	Response     *Duration `yaml:"responseTimeout"`
	Health       Health    `yaml:"health"`
}

// Health is the circuit breaker that each instance of an upstream has, and the checks that bring an instance back.
type Health struct {
	Disabled    bool      `yaml:"disabled"`    // send requests to all instances, always
	ErrorRatio  *float64  `yaml:"errorRatio"`  // of failures that ejects an instance; nil: 0.5
	MinRequests *int      `yaml:"minRequests"` // below which nothing is ejected; nil: 5
	Window      *Duration `yaml:"window"`      // in which requests are counted; nil: 10s
	Recovery    *Duration `yaml:"recovery"`    // until a request may probe an ejected instance, whole seconds; nil: 5s
	MaxEjected  *float64  `yaml:"maxEjected"`  // share of the instances that may be ejected at a time; nil: 1
	Check       *Duration `yaml:"check"`       // until the first TCP check of an ejected instance; nil: 1s; 0: no checks
	Statuses    []int     `yaml:"statuses"`    // answers that are failures of the instance; none: only broken connections and timeouts
}

// Route leads requests to an upstream.
type Route struct {
	Pattern     string    `yaml:"pattern"`     // of http.ServeMux, such as /orders/{id}
	Method      string    `yaml:"method"`      // "": all
	ID          string    `yaml:"id"`          // the resource; "": METHOD:/pattern
	Upstream    string    `yaml:"upstream"`    // name of one
	StripPrefix string    `yaml:"stripPrefix"` // of the path, before the request goes on
	Timeout     *Duration `yaml:"timeout"`     // of the whole exchange once rules let the request pass; nil, 0: none
}

// Origin says who the caller of a request is: at most one member is set.
type Origin struct {
	Header   string `yaml:"header"`   // value of a header
	ClientIP bool   `yaml:"clientIP"` // address of the client
	TLS      string `yaml:"tls"`      // of the verified client certificate: subject, or name (alternative name)
}

// Block is the answer to refused requests. Zero: 429 (authority 403), with a text or JSON body by the request's Accept.
type Block struct {
	Status      int    `yaml:"status"` // 0: 429 or 403
	Body        string `yaml:"body"`
	ContentType string `yaml:"contentType"` // of Body; "": text/plain; charset=utf-8
}

// Timeouts of the server. None of them ends a request that waits in a rule's queue: only its client does, by leaving.
type Timeouts struct {
	ReadHeader *Duration `yaml:"readHeader"` // to send a request's header; nil: 10s; 0: none
	Idle       *Duration `yaml:"idle"`       // of a connection between requests; nil: 2m; 0: none
	Shutdown   *Duration `yaml:"shutdown"`   // for requests in flight to end when the server stops; nil: 10s
}

// Limits on requests.
type Limits struct {
	Header *Size `yaml:"header"` // of all header fields; nil: 64KiB
	Body   *Size `yaml:"body"`   // nil: 10MiB; 0: none
}

// Engine settings.
type Engine struct {
	App           string    `yaml:"app"`           // name of the application; "": tidegate
	Interval      *Duration `yaml:"interval"`      // of the second-level window; nil: 1s
	Buckets       *int      `yaml:"buckets"`       // of it; nil: 2
	OccupyTimeout *Duration `yaml:"occupyTimeout"` // nil: 500ms, at most the interval
	ColdFactor    *int      `yaml:"coldFactor"`    // of warm-up rules; nil: 3
}

// Duration is a time span as time.ParseDuration reads it, such as 500ms or 1m30s.
type Duration time.Duration

// Size is a number of bytes, such as 65536, 64KiB, 10MiB or 1GiB.
type Size int64

// or returns the value, or the default where there is none.
func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func (c *Config) shutdown() time.Duration {
	return time.Duration(or(c.Timeouts.Shutdown, Duration(10*time.Second)))
}
