package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
)

// Why no server answered: what errors.Is finds in the Err of a chain.TokenResult and in [Status]. The error of a result
// may say more, for example which address refused.
var (
	// ErrTimeout says that no answer came within the timeout, or no connection within the time for it.
	ErrTimeout = errors.New("token client: no answer within the timeout")
	// ErrRefused says that the server cannot be reached.
	ErrRefused = errors.New("token client: connection refused; check the address and that the token server runs")
	// ErrClosed says that the connection was lost, is not made yet, or that the client was closed or not started.
	ErrClosed = errors.New("token client: not connected")
	// ErrTLS says that no secure connection came about.
	ErrTLS = errors.New("token client: TLS handshake failed; check the certificates, and that the server speaks TLS")
	// ErrUnauthenticated says that client and server do not know the same secret.
	ErrUnauthenticated = errors.New("token client: not authenticated; check the secret on both sides")
	// ErrUnassigned says that no server was set.
	ErrUnassigned = errors.New("token client: no token server assigned")
	// ErrLocal says that the server left several requests in a row unanswered, so that it is not asked for now.
	ErrLocal = errors.New("token client: deciding locally, the token server does not answer")
	// ErrBackOff comes with chain.TokenTooManyRequest when the client did not ask because the server lately had too many
	// requests.
	ErrBackOff = errors.New("token client: leaving the token server alone after too many requests")
)

// fault is one of the errors above with what it was about.
type fault struct {
	kind   error
	detail error // may be nil
}

func (f *fault) Error() string {
	if f.detail == nil {
		return f.kind.Error()
	}
	return fmt.Sprintf("%v: %v", f.kind, f.detail)
}

func (f *fault) Unwrap() []error {
	if f.detail == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.detail}
}

// dialFault says why a server was not reached.
func dialFault(err error) error {
	if timedOut(err) {
		return &fault{kind: ErrTimeout, detail: err}
	}
	return &fault{kind: ErrRefused, detail: err}
}

// talkFault says why a connection ended, or its first messages failed. Under TLS 1.3 a server's refusal of the client's
// certificate comes only with the first read.
func talkFault(err error) error {
	var known *fault
	var alert tls.AlertError
	var op *net.OpError
	switch {
	case errors.As(err, &known):
		return err
	case timedOut(err):
		return &fault{kind: ErrTimeout, detail: err}
	case errors.As(err, &alert), errors.As(err, &op) && op.Op == "remote error":
		return &fault{kind: ErrTLS, detail: err}
	}
	return &fault{kind: ErrClosed, detail: err}
}

// tlsFault says why a TLS handshake failed.
func tlsFault(err error) error {
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if timedOut(err) && !errors.As(err, &record) && !errors.As(err, &verify) && !errors.As(err, &authority) {
		return &fault{kind: ErrTimeout, detail: err}
	}
	return &fault{kind: ErrTLS, detail: err}
}

func timedOut(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
