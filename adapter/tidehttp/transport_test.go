package tidehttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/flow"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func request(t *testing.T, ctx context.Context, url string) *http.Request { //nolint:revive // t comes first in tests
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTransportEndsWithTheBody(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = io.WriteString(w, "some text")
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: tidehttp.Transport(&http.Transport{DisableKeepAlives: true}, tidehttp.WithEngine(e))}
	resource := "GET:" + strings.TrimPrefix(server.URL, "http://") + "/items/{id}"
	ctx := tidehttp.WithTemplate(t.Context(), "/items/{id}")
	for _, c := range []struct {
		path     string
		end      func(io.ReadCloser)
		failures int64
	}{
		{"/items/1", func(b io.ReadCloser) { _, _ = io.ReadAll(b) }, 0},
		{"/items/2", func(b io.ReadCloser) { _ = b.Close(); _ = b.Close() }, 0},
		{"/broken", func(b io.ReadCloser) { _ = b.Close() }, 1},
	} {
		response, err := client.Do(request(t, ctx, server.URL+c.path))
		if err != nil {
			t.Fatal(err)
		}
		if n := active(e, resource); n != 1 {
			t.Errorf("%s: %d in flight before the body's end, want 1", c.path, n)
		}
		c.end(response.Body)
		if s, _ := e.ResourceStats(resource); s.Active != 0 || s.TotalException != c.failures {
			t.Errorf("%s: %d in flight, %d failures; want 0, %d", c.path, s.Active, s.TotalException, c.failures)
		}
		_ = response.Body.Close()
	}
}

func TestTransportErrors(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	left, leave := context.WithCancel(t.Context())
	leave()
	for name, c := range map[string]struct {
		ctx      context.Context
		next     roundTrip
		failures int64
	}{
		"fails":     {t.Context(), func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }, 1},
		"cancelled": {left, func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() }, 0},
		"no answer": {t.Context(), func(*http.Request) (*http.Response, error) { return nil, nil }, 0},
		"no body": {t.Context(), func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusNoContent}, nil
		}, 0},
	} {
		transport := tidehttp.Transport(c.next, tidehttp.WithEngine(e), tidehttp.WithResource(func(*http.Request) string { return name }))
		response, _ := transport.RoundTrip(request(t, c.ctx, "http://h.example/"))
		if response != nil && response.Body != nil {
			_ = response.Body.Close()
		}
		if s, _ := e.ResourceStats(name); s.Active != 0 || s.TotalException != c.failures {
			t.Errorf("%s: %d in flight, %d failures; want 0, %d", name, s.Active, s.TotalException, c.failures)
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestTransportRefuses(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "POST:h.example", Count: 0}); err != nil {
		t.Fatal(err)
	}
	next := roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a refused request was sent")
		return nil, nil
	})
	body := &closing{Reader: strings.NewReader("x")}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h.example/", body)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: tidehttp.Transport(next, tidehttp.WithEngine(e))}
	response, err := client.Do(r)
	if response != nil {
		_ = response.Body.Close()
	}
	var blocked *tidegate.BlockError
	if !errors.As(err, &blocked) || !errors.Is(err, tidegate.ErrFlow) || !body.closed {
		t.Errorf("error %v, body closed: %v; want a flow refusal and a closed body", err, body.closed)
	}
	client.Transport = tidehttp.Transport(next, tidehttp.WithEngine(e), tidehttp.WithFallback(
		func(r *http.Request, _ *tidegate.BlockError) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
		}))
	response, err = client.Do(r)
	if err != nil || response.StatusCode != http.StatusTeapot {
		t.Errorf("fallback: %v, %v", response, err)
	} else {
		_ = response.Body.Close()
	}
}
