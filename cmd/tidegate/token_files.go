package main

import (
	"crypto/tls"
	"errors"
	"flag"

	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// clientFiles are the files by which a token client and its server know each other.
type clientFiles struct{ ca, cert, key, secret string }

func (c *clientFiles) flags(f *flag.FlagSet) {
	f.StringVar(&c.ca, "tls-ca", "", "`FILE` (PEM) with the authorities of the server's certificate: TLS is spoken")
	f.StringVar(&c.cert, "tls-cert", "", "`FILE` (PEM) with the client's certificate")
	f.StringVar(&c.key, "tls-key", "", "`FILE` (PEM) with its key")
	f.StringVar(&c.secret, "secret-file", "", "`FILE` with the secret that the server asks for")
}

func (c *clientFiles) check() error {
	if (c.cert == "") != (c.key == "") {
		return errors.New("-tls-cert and -tls-key belong together")
	}
	if c.cert != "" && c.ca == "" {
		return errors.New("-tls-cert needs -tls-ca, the authorities of the server's certificate")
	}
	return nil
}

// options reads the files.
func (c *clientFiles) options() (options []client.Option, err error) {
	if c.ca != "" {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if config.RootCAs, err = standalone.ReadCertificates(c.ca); err != nil {
			return nil, err
		}
		if c.cert != "" {
			pair, err := tls.LoadX509KeyPair(c.cert, c.key)
			if err != nil {
				return nil, err
			}
			config.Certificates = []tls.Certificate{pair}
		}
		options = append(options, client.WithTLS(config))
	}
	if c.secret != "" {
		secret, err := standalone.ReadSecret(c.secret)
		if err != nil {
			return nil, err
		}
		options = append(options, client.WithSecret(secret))
	}
	return options, nil
}
