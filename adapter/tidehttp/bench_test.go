package tidehttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// BenchmarkMiddleware compares a mux with and without the middleware around it.
func BenchmarkMiddleware(b *testing.B) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "/users/7", nil)
	w := nowhere{http.Header{}}
	for name, h := range map[string]http.Handler{"bare": mux, "guarded": tidehttp.Middleware(tidehttp.WithEngine(newEngine(b)))(mux)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
