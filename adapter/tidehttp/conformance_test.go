package tidehttp_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tidegate-go/tidegate/adapter/adaptertest"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

// The middleware passes the suite around a mux and around each handler in it.
func TestConformance(t *testing.T) {
	t.Run("around the mux", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Adapter{Serve: func(t *testing.T, s adaptertest.Setup) string {
			mux := http.NewServeMux()
			for _, route := range s.Routes {
				mux.HandleFunc(route.Method+" "+route.Pattern, handler(route))
			}
			return start(t, guard(t, s)(mux))
		}})
	})
	t.Run("around handlers", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Adapter{Paths: 500, Serve: func(t *testing.T, s adaptertest.Setup) string {
			mux, wrap := http.NewServeMux(), guard(t, s)
			for _, route := range s.Routes {
				mux.Handle(route.Method+" "+route.Pattern, wrap(handler(route)))
			}
			return start(t, unmatched(mux, wrap(http.NotFoundHandler())))
		}})
	})
	t.Run("around other middleware", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Adapter{Paths: 500, Serve: func(t *testing.T, s adaptertest.Setup) string {
			mux := http.NewServeMux()
			for _, route := range s.Routes {
				mux.HandleFunc(route.Method+" "+route.Pattern, handler(route))
			}
			between := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, r) })
			return start(t, guard(t, s, tidehttp.WithMux(mux))(between))
		}})
	})
}

// unmatched hands requests without a route to a guarded handler.
func unmatched(mux *http.ServeMux, notFound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			notFound.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func handler(route adaptertest.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		route.Handle(adaptertest.Exchange{
			Context: r.Context(), Param: r.PathValue,
			Answer: func(status int, body string) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			},
		})
	}
}

func guard(t *testing.T, s adaptertest.Setup, more ...tidehttp.Option) func(http.Handler) http.Handler {
	t.Helper()
	options := append([]tidehttp.Option{tidehttp.WithEngine(s.Engine)}, more...)
	var args []tidehttp.Arg
	for _, text := range s.Args {
		arg, err := tidehttp.ParseArg(text)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, arg)
	}
	options = append(options, tidehttp.WithArgs(args...))
	if s.OriginHeader != "" {
		options = append(options, tidehttp.WithOrigin(tidehttp.OriginHeader(s.OriginHeader)))
	}
	return tidehttp.Middleware(options...)
}

func start(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are part of the tests
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}
