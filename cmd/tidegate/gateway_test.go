package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lineWriter hands on lines.
type lineWriter struct {
	lines chan string
	rest  string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest += string(p)
	for {
		line, rest, found := strings.Cut(w.rest, "\n")
		if !found {
			return len(p), nil
		}
		w.rest = rest
		w.lines <- line
	}
}

func writeGateway(t *testing.T, config, rules string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"gateway.yaml": config, "rules.json": rules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "gateway.yaml")
}

func TestGateway(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "order") }))
	t.Cleanup(upstream.Close)
	file := writeGateway(t, "listen: 127.0.0.1:0\nupstreams: [{name: shop, urls: ["+upstream.URL+"]}]\n"+
		"routes: [{pattern: /orders/{id}, upstream: shop}]\nrules: [rules.json]\n",
		`[{"resource":"POST:/orders/{id}","count":0}]`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout := &lineWriter{lines: make(chan string, 10)}
	code := make(chan int, 1)
	go func() { code <- runGateway(ctx, file, stdout, io.Discard) }()
	var address string
	select {
	case line := <-stdout.lines:
		var ok bool
		if address, ok = strings.CutPrefix(line, "listening on "); !ok {
			t.Fatalf("first line %q, want listening on ADDRESS", line)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the gateway does not listen")
	}
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusTooManyRequests} {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/orders/7", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: status %d, want %d", method, response.StatusCode, want)
		}
	}
	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d, want 0", got)
	}
}

func TestGatewayBadConfig(t *testing.T) {
	t.Parallel()
	file := writeGateway(t, "listen: nowhere\nroutes:\n- {pattern: /x, upstream: shop}\nrules: [rules.json, gone.json]\n", "{")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"gateway", "-config", file}, &stdout, &stderr); code != exitUsage {
		t.Errorf("exit code %d, want 2", code)
	}
	for _, want := range []string{":1: listen: ", ":1: upstreams: ", ":3: routes[0].upstream: ", ":4: rules[0]: ", ":4: rules[1]: "} {
		if !strings.Contains(stderr.String(), file+want) {
			t.Errorf("no mistake %q in\n%s", want, stderr.String())
		}
	}
	if stdout.Len() > 0 {
		t.Errorf("output %q, want none", stdout.String())
	}
}

func TestGatewayUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"gateway"}, exitUsage},
		{[]string{"gateway", "-config"}, exitUsage},
		{[]string{"gateway", "-config", "none.yaml"}, exitUsage},
		{[]string{"gateway", "-h"}, exitOK},
		{[]string{"demo", "-seconds", "0"}, exitUsage},
		{[]string{"demo", "-seconds", "x"}, exitUsage},
		{[]string{"demo", "more"}, exitUsage},
		{[]string{"demo", "-h"}, exitOK},
	} {
		if code := run(c.args, io.Discard, io.Discard); code != c.want {
			t.Errorf("%q: exit code %d, want %d", c.args, code, c.want)
		}
	}
}
