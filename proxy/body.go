package proxy

import (
	"io"
	"net/http"
	"sync/atomic"
)

// keptBody keeps a request's body open until it was read from, so that an attempt that sends nothing can be followed
// by another.
type keptBody struct {
	io.ReadCloser
	read atomic.Bool
}

// keep makes the request's body survive attempts that do not read it; nil if there is none. Whoever made the request
// closes the body in the end.
func keep(r *http.Request) *keptBody {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b := &keptBody{ReadCloser: r.Body}
	r.Body = b
	return b
}

func (b *keptBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.ReadCloser.Read(p)
}

// Close closes the body if it was read from.
func (b *keptBody) Close() error {
	if b.read.Load() {
		return b.ReadCloser.Close()
	}
	return nil
}

func (b *keptBody) used() bool { return b != nil && b.read.Load() }
