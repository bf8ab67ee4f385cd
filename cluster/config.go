package cluster

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Defaults of Sentinel's cluster configuration.
const (
	DefaultPort           = 18730 // of a token server
	DefaultIdleSeconds    = 600
	DefaultRequestTimeout = 20 // ms
)

// ClientConfig is how a token client asks.
type ClientConfig struct {
	RequestTimeout int `json:"requestTimeout"` // ms that a call waits for an answer; must be above 0
}

// Validate returns nil or a *chain.MemberError.
func (c ClientConfig) Validate() error {
	if c.RequestTimeout <= 0 || c.RequestTimeout > math.MaxInt32 {
		return chain.Refuse("requestTimeout", "must be 1 to %d milliseconds, not %d", math.MaxInt32, c.RequestTimeout)
	}
	return nil
}

func (c ClientConfig) timeout() time.Duration {
	return time.Duration(c.RequestTimeout) * time.Millisecond
}

// ParseClientConfig reads a token client's configuration. requestTimeout must be there.
func ParseClientConfig(content []byte) (c ClientConfig, warnings []string, err error) {
	return parseWhole(content, parseClientConfig)
}

func parseClientConfig(path string, raw json.RawMessage) (c ClientConfig, warnings []string, err error) {
	missing := false
	warnings, err = object(path, raw, func(o *rulejson.Object) {
		_, there := o.Raw("requestTimeout")
		missing = !there
		o.Int("requestTimeout", &c.RequestTimeout)
	}, func() error {
		if missing {
			return chain.Refuse("requestTimeout", "is needed: milliseconds that a call waits for the token server, for instance %d", DefaultRequestTimeout)
		}
		return c.Validate()
	})
	return c, warnings, err
}

// Assign says which token server a client asks.
type Assign struct {
	ServerHost string `json:"serverHost"`           // must not be blank
	ServerPort int    `json:"serverPort,omitempty"` // 1 to 65535; 0 means 18730
}

// Addr returns the server's address.
func (a Assign) Addr() string { return address(a.ServerHost, rulejson.Or(a.ServerPort, DefaultPort)) }

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (a Assign) Validate() error {
	if err := checkHost("serverHost", a.ServerHost); err != nil || a.ServerPort == 0 {
		return err
	}
	return checkPort("serverPort", a.ServerPort)
}

// ParseAssign reads the assignment of a client.
func ParseAssign(content []byte) (a Assign, warnings []string, err error) {
	return parseWhole(content, parseAssign)
}

func parseAssign(path string, raw json.RawMessage) (a Assign, warnings []string, err error) {
	a.ServerPort = DefaultPort
	warnings, err = object(path, raw, func(o *rulejson.Object) {
		o.String("serverHost", &a.ServerHost)
		o.Int("serverPort", &a.ServerPort)
		o.Set("serverPort", int64(a.ServerPort), DefaultPort)
	}, func() error { return a.Validate() })
	return a, warnings, err
}

// Transport is where an embedded token server listens.
type Transport struct {
	Port        int `json:"port,omitempty"`        // 1 to 65535; 0 means 18730
	IdleSeconds int `json:"idleSeconds,omitempty"` // after which a silent connection is closed; 0 or less means 600
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (t Transport) Validate() error {
	if t.Port == 0 {
		return nil
	}
	return checkPort("port", t.Port)
}

func (t Transport) port() int { return rulejson.Or(t.Port, DefaultPort) }

func (t Transport) idle() time.Duration {
	if t.IdleSeconds <= 0 {
		return DefaultIdleSeconds * time.Second
	}
	return time.Duration(t.IdleSeconds) * time.Second
}

// ParseTransport reads the transport configuration of a token server.
func ParseTransport(content []byte) (t Transport, warnings []string, err error) {
	return parseWhole(content, parseTransport)
}

func parseTransport(path string, raw json.RawMessage) (t Transport, warnings []string, err error) {
	t = Transport{Port: DefaultPort, IdleSeconds: DefaultIdleSeconds}
	warnings, err = object(path, raw, func(o *rulejson.Object) {
		o.Int("port", &t.Port)
		o.Set("port", int64(t.Port), DefaultPort)
		if o.Int("idleSeconds", &t.IdleSeconds); t.IdleSeconds <= 0 {
			o.Warn("%sidleSeconds: %d is read as %d", prefix(path), t.IdleSeconds, DefaultIdleSeconds)
			t.IdleSeconds = DefaultIdleSeconds
		}
	}, func() error { return t.Validate() })
	return t, warnings, err
}

// FlowConfig is how a token server decides.
type FlowConfig = token.Config

// ParseFlowConfig reads the flow configuration of a token server. Members that are not there have their defaults.
func ParseFlowConfig(content []byte) (c FlowConfig, warnings []string, err error) {
	return parseWhole(content, parseFlowConfig)
}

func parseFlowConfig(path string, raw json.RawMessage) (c FlowConfig, warnings []string, err error) {
	c = token.DefaultConfig()
	warnings, err = object(path, raw, func(o *rulejson.Object) {
		namespace := ""
		if o.String("namespace", &namespace); namespace != "" && namespace != defaultNamespace {
			o.Warn("%snamespace: %q is ignored: the configuration is that of all namespaces", prefix(path), namespace)
		}
		o.Float("exceedCount", &c.ExceedCount)
		o.Float("maxOccupyRatio", &c.MaxOccupyRatio)
		o.Float("maxAllowedQps", &c.MaxAllowedQPS)
		o.Int("intervalMs", &c.IntervalMs)
		o.Int("sampleCount", &c.SampleCount)
	}, func() error { return checkFlowConfig(c) })
	return c, warnings, err
}

// checkFlowConfig returns nil or a *chain.MemberError that names the first member at fault.
func checkFlowConfig(c FlowConfig) error {
	err := c.Validate()
	if err == nil {
		return nil
	}
	member, reason, _ := strings.Cut(err.Error(), ": ")
	return chain.Refuse(member, "%s", reason)
}

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + "."
}
