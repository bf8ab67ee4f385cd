package proxy

import (
	"net/http"
	"net/http/httputil"
)

// NewTransport returns an upstream's transport, for comparison.
func NewTransport(u *Upstream) *http.Transport { return newTransport(u) }

// NewBuffers returns a pool of buffers, for comparison.
func NewBuffers() httputil.BufferPool { return &buffers{} }
