package proxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// Cluster is the server's place in a cluster, in which token servers decide the rules in cluster mode for all. The member
// cluster of a rule document goes before it, part by part: role, assignment, timeout, port, and how a token server decides.
type Cluster struct {
	Server      string      `yaml:"server"`      // host:port of the token server to ask; "": what rule documents say
	Namespace   string      `yaml:"namespace"`   // on the token server; "": engine.app
	Identity    string      `yaml:"identity"`    // by which cluster maps know this gateway, with $NAME from the environment; "": IP@8719
	Timeout     *Duration   `yaml:"timeout"`     // that a request waits for the token server, whole milliseconds; nil: 20ms
	MaxTimeouts *int        `yaml:"maxTimeouts"` // in a row, after which the token server is not asked until it answers a ping; nil: 3; 0: always asked
	Coalesce    bool        `yaml:"coalesce"`    // ask once for requests that come at the same time
	SecretFile  string      `yaml:"secretFile"`  // of the secret that client and token server prove to each other; "": none
	TLS         *ClusterTLS `yaml:"tls"`         // nil: plaintext
	Embedded    *Embedded   `yaml:"embedded"`    // nil: a token server only where a rule document says so
}

// ClusterTLS is how client and token server prove themselves to each other. All files are PEM.
type ClusterTLS struct {
	CA         string `yaml:"ca"`         // authorities of the token servers' certificates; "": those of the system
	Cert       string `yaml:"cert"`       // of this gateway: an embedded token server needs it, a client where the server wants one
	Key        string `yaml:"key"`        // of Cert
	ClientCA   string `yaml:"clientCA"`   // clients of an embedded token server must show a certificate of these authorities; "": no certificates
	ServerName string `yaml:"serverName"` // in the token server's certificate; "": the host of its address
}

// Embedded is a token server in the gateway. It decides the gateway's own rules in cluster mode, for itself and for others.
type Embedded struct {
	Machine        string    `yaml:"machine"`        // identity of the gateway that is the token server, the others ask Cluster.Server; "": this one
	Listen         string    `yaml:"listen"`         // host:port; "": see Cluster.listen
	Insecure       bool      `yaml:"insecure"`       // others may reach it though there is neither TLS nor a secret
	Idle           *Duration `yaml:"idle"`           // after which a silent client is disconnected, whole seconds; nil: 10m
	MaxConnsPerIP  int       `yaml:"maxConnsPerIP"`  // 0: no limit
	MaxQPS         *float64  `yaml:"maxQps"`         // requests of a namespace in a second; nil: 30000
	ExceedCount    *float64  `yaml:"exceedCount"`    // factor of all thresholds; nil: 1
	MaxOccupyRatio *float64  `yaml:"maxOccupyRatio"` // share of a threshold that prioritized requests may borrow from the future; nil: 1
}

// identity returns the gateway's own name, "" for the default.
func (c *Cluster) identity() (string, error) {
	var missing []string
	name := os.Expand(c.Identity, func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no %s; export it, or write the identity out", strings.Join(missing, ", "))
	}
	if c.Identity != "" && strings.TrimSpace(name) == "" {
		return "", errors.New("must not be blank")
	}
	return name, nil
}

// open says that whoever reaches an embedded token server is served.
func (c *Cluster) open() bool { return c.TLS == nil && c.SecretFile == "" }

// listen returns where an embedded token server listens unless a cluster map gives another port. The default is the port of the token
// server that the others ask, else 18730, at all addresses; at 127.0.0.1 if it is open to whoever reaches it and nobody asks from elsewhere.
func (c *Cluster) listen() (host string, port int) {
	port = cluster.DefaultPort
	address := c.Embedded.Listen
	if address == "" && c.Server != "" {
		host, port, _ = splitAddress(c.Server) // it was checked
		if !isLoopback(host) {
			host = ""
		}
		return host, port
	}
	if address != "" {
		host, port, _ = splitAddress(address) // it was checked
	} else if c.open() && !c.Embedded.Insecure {
		host = "127.0.0.1"
	}
	return host, port
}

// settings returns what holds where rule documents do not speak.
func (c *Cluster) settings(identity string) cluster.Settings {
	var s cluster.Settings
	if c.Timeout != nil {
		s.ClientConfig = &cluster.ClientConfig{RequestTimeout: int(time.Duration(*c.Timeout).Milliseconds())}
	}
	if host, port, err := splitAddress(c.Server); err == nil {
		s.Assign = &cluster.Assign{ServerHost: host, ServerPort: port}
		s.Mode = new(cluster.ModeClient)
	}
	e := c.Embedded
	if e == nil {
		return s
	}
	if e.Machine == "" || e.Machine == identity {
		s.Mode = new(cluster.ModeServer)
	}
	_, port := c.listen()
	s.Transport = &cluster.Transport{Port: port, IdleSeconds: int(time.Duration(or(e.Idle, 0)).Seconds())}
	flow := e.decisions()
	s.ServerFlow = &flow
	return s
}

// decisions returns how an embedded token server decides.
func (e *Embedded) decisions() cluster.FlowConfig {
	c := token.DefaultConfig()
	c.MaxAllowedQPS = or(e.MaxQPS, c.MaxAllowedQPS)
	c.ExceedCount = or(e.ExceedCount, c.ExceedCount)
	c.MaxOccupyRatio = or(e.MaxOccupyRatio, c.MaxOccupyRatio)
	return c
}

// splitAddress reads an address with a port of its own.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("must be host:port with a port from 1 to 65535, not %q", address)
	}
	return host, port, nil
}

// isLoopback says whether only this machine reaches the host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
