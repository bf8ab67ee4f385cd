package standalone

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxSecret bounds what is read of a secret's file, in bytes.
const maxSecret = 4096

// readSecurity reads the files that protect the ports.
func (c *Config) readSecurity() (security, error) {
	s := security{sum: c.fingerprint()}
	var err error
	if c.SecretFile != "" {
		if s.secret, err = ReadSecret(c.path(c.SecretFile)); err != nil {
			return security{}, err
		}
	}
	if s.tls, err = c.tls(); err != nil {
		return security{}, err
	}
	if s.sum != c.fingerprint() {
		return security{}, errChanging
	}
	return s, nil
}

var errChanging = errors.New("the files of certificates, keys or the secret change while they are read")

// ReadSecret returns the secret that a file holds, without the white space around it. An empty one is an error.
func ReadSecret(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("secret-file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, fmt.Errorf("secret-file: %w", err)
	}
	if len(content) > maxSecret {
		return nil, fmt.Errorf("secret-file: %s is larger than %d bytes", file, maxSecret)
	}
	secret := bytes.TrimSpace(content)
	if len(secret) == 0 {
		return nil, fmt.Errorf("secret-file: %s is empty; write the secret into it", file)
	}
	return secret, nil
}

// tls returns the settings of the encrypted port, nil for plaintext.
func (c *Config) tls() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.path(c.TLSCert), c.path(c.TLSKey))
	if err != nil {
		return nil, fmt.Errorf("tls-cert, tls-key: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if c.TLSClientCA != "" {
		if config.ClientCAs, err = ReadCertificates(c.path(c.TLSClientCA)); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// ReadCertificates returns the authorities in a PEM file.
func ReadCertificates(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates: %s holds none in PEM", file)
	}
	return pool, nil
}
