package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
)

// options returns the options of the gateway's cluster member. It reads the files.
func (c *Cluster) options(from source) ([]cluster.Option, error) {
	identity, err := c.identity()
	if err != nil {
		return nil, fmt.Errorf("cluster.identity: %w", err)
	}
	list := []cluster.Option{cluster.WithIdentity(identity), cluster.WithNamespace(c.Namespace)}
	if c.SecretFile != "" {
		secret, err := readSecret(from.path(c.SecretFile))
		if err != nil {
			return nil, fmt.Errorf("cluster.secretFile: %w", err)
		}
		list = append(list, cluster.WithSecret(secret))
	}
	if c.TLS != nil {
		secure, err := c.TLS.config(from)
		if err != nil {
			return nil, fmt.Errorf("cluster.tls: %w", err)
		}
		list = append(list, cluster.WithTLS(secure))
	}
	if c.MaxTimeouts != nil {
		list = append(list, cluster.WithClientOptions(client.WithMaxTimeouts(*c.MaxTimeouts)))
	}
	if c.Coalesce {
		list = append(list, cluster.WithClientOptions(client.WithCoalescing(0)))
	}
	if e := c.Embedded; e != nil {
		host, _ := c.listen()
		list = append(list, cluster.WithListenHost(host), cluster.WithServerOptions(server.WithMaxConnsPerIP(e.MaxConnsPerIP)))
	}
	return list, nil
}

func (t *ClusterTLS) config(from source) (*tls.Config, error) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pool, err := readAuthorities(from.path(t.CA))
		if err != nil {
			return nil, err
		}
		secure.RootCAs = pool
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(from.path(t.Cert), from.path(t.Key))
		if err != nil {
			return nil, err
		}
		secure.Certificates = []tls.Certificate{pair}
	}
	if t.ClientCA != "" {
		pool, err := readAuthorities(from.path(t.ClientCA))
		if err != nil {
			return nil, err
		}
		secure.ClientCAs, secure.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return secure, nil
}

// maxSecret bounds the size of a secret's file.
const maxSecret = 4096

// readSecret returns the content of a file without the white space around it.
func readSecret(file string) ([]byte, error) {
	content, err := readFile(file, maxSecret)
	if err != nil {
		return nil, err
	}
	if content = bytes.TrimSpace(content); len(content) == 0 {
		return nil, errors.New(file + " is empty; write the secret into it")
	}
	return content, nil
}
