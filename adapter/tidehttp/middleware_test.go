package tidehttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/flow"
)

// serveOne serves one route and returns its URL.
func serveOne(t *testing.T, e *tidegate.Engine, h http.HandlerFunc, options ...tidehttp.Option) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/x", h)
	return start(t, tidehttp.Middleware(append(options, tidehttp.WithEngine(e))...)(mux)) + "/x"
}

func active(e *tidegate.Engine, resource string) int64 {
	s, _ := e.ResourceStats(resource)
	return s.Active
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response, string(text)
}

func TestPanicGoesOnUnchanged(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for _, value := range []any{http.ErrAbortHandler, "text", errors.New("error")} {
		h := tidehttp.Middleware(tidehttp.WithEngine(e))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) }))
		func() {
			defer func() {
				if got := recover(); got != value {
					t.Errorf("panic with %v, want %v", got, value)
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}()
	}
	s, _ := e.ResourceStats("GET:unmatched")
	if s.Active != 0 || s.TotalException != 3 {
		t.Errorf("%d in flight, %d failures; want 0, 3", s.Active, s.TotalException)
	}
}

// The response has what the server's has: it flushes, is taken over, reads from files, and takes deadlines.
func TestStreaming(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	next := make(chan struct{})
	url := serveOne(t, e, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(io.ReaderFrom); !ok {
			t.Error("the response is no io.ReaderFrom")
		}
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "one\n")
		w.(http.Flusher).Flush()
		<-next
		_, _ = io.Copy(w, strings.NewReader("two\n"))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if line, _ := lines.ReadString('\n'); line != "one\n" {
		t.Errorf("first line %q", line)
	}
	if n := active(e, "GET:/x"); n != 1 {
		t.Errorf("%d in flight while streaming, want 1", n)
	}
	close(next)
	if line, _ := lines.ReadString('\n'); line != "two\n" {
		t.Errorf("second line %q", line)
	}
}

func TestHijack(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{"held": 1, "released": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			var options []tidehttp.Option
			if name == "released" {
				options = append(options, tidehttp.WithExitOnUpgrade())
			}
			url := serveOne(t, e, func(w http.ResponseWriter, _ *http.Request) {
				conn, buffer, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = buffer.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
				_ = buffer.Flush()
				line, _ := buffer.ReadString('\n')
				_, _ = buffer.WriteString(line)
				_ = buffer.Flush()
			}, options...)
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/x"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			in := bufio.NewReader(conn)
			response, err := http.ReadResponse(in, nil)
			if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("answer %v, %v", response, err)
			}
			if n := active(e, "GET:/x"); n != want {
				t.Errorf("%d in flight while the connection is open, want %d", n, want)
			}
			_, _ = io.WriteString(conn, "hello\n")
			if line, _ := in.ReadString('\n'); line != "hello\n" {
				t.Errorf("echo %q", line)
			}
		})
	}
}

// A response without Flush and Hijack below has none above either.
func TestNothingIsPretended(t *testing.T) {
	t.Parallel()
	h := tidehttp.Middleware(tidehttp.WithEngine(newEngine(t)))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Flusher); ok {
			t.Error("the response pretends to flush")
		}
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the response pretends to be taken over")
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("flushing: %v, want that it is not supported", err)
		}
	}))
	h.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/", nil))
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/x", func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Pusher); !ok {
			t.Error("the response of HTTP/2 does not push")
		}
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the response of HTTP/2 pretends to be taken over")
		}
		_, _ = io.WriteString(w, "fine")
		w.(http.Flusher).Flush()
	})
	server := httptest.NewUnstartedServer(tidehttp.Middleware(tidehttp.WithEngine(newEngine(t)))(mux))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	response, err := server.Client().Get(server.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.ProtoMajor != 2 || string(text) != "fine" {
		t.Errorf("%s: %q", response.Proto, text)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve   http.HandlerFunc
		options []tidehttp.Option
		want    int64
	}{
		"nothing written": {func(http.ResponseWriter, *http.Request) {}, nil, 0},
		"404":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, nil, 0},
		"500":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, nil, 1},
		"103 then 200":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); _, _ = w.Write(nil) }, nil, 0},
		"200 then 500":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); w.WriteHeader(500) }, nil, 0},
		"noted error": {func(_ http.ResponseWriter, r *http.Request) {
			tidehttp.EntryFrom(r.Context()).SetError(errors.New("half an answer"))
		}, nil, 1},
		"404 as failure": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
			[]tidehttp.Option{tidehttp.WithFailure(func(status int) bool { return status >= 400 })},
			1,
		},
		"500 to a client that left": {func(w http.ResponseWriter, r *http.Request) {
			leave, _ := r.Context().Value(leaveKey{}).(context.CancelFunc)
			leave()
			w.WriteHeader(500)
		}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r = r.WithContext(context.WithValue(ctx, leaveKey{}, cancel))
			tidehttp.Middleware(append(c.options, tidehttp.WithEngine(e))...)(c.serve).ServeHTTP(httptest.NewRecorder(), r)
			if s, _ := e.ResourceStats("GET:unmatched"); s.TotalException != c.want || s.TotalSuccess != 1 || s.Active != 0 {
				t.Errorf("%d failures of %d calls, %d in flight; want %d of 1, 0", s.TotalException, s.TotalSuccess, s.Active, c.want)
			}
		})
	}
}

type leaveKey struct{}

func TestSkipAndSwitch(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "GET:/x", Count: 0}); err != nil {
		t.Fatal(err)
	}
	url := serveOne(t, e, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") },
		tidehttp.WithSkip(func(r *http.Request) bool { return r.URL.RawQuery == "health" }))
	if response, _ := get(t, url); response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("status %d, want 429", response.StatusCode)
	}
	if response, _ := get(t, url+"?health"); response.StatusCode != http.StatusOK {
		t.Errorf("skipped request: status %d, want 200", response.StatusCode)
	}
	e.SetEnabled(false)
	if response, body := get(t, url); response.StatusCode != http.StatusOK || body != "fine" {
		t.Errorf("switched off: status %d %q, want 200", response.StatusCode, body)
	}
}

// What is left of a wrong setup lets requests pass.
func TestNilSafe(t *testing.T) {
	t.Parallel()
	h := tidehttp.Middleware(nil, tidehttp.WithEngine(nil), tidehttp.WithMux(nil), tidehttp.WithFailure(nil), tidehttp.WithBlockHandler(nil))(nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", w.Code)
	}
	tidehttp.EntryFrom(t.Context()).Exit(nil)
}
