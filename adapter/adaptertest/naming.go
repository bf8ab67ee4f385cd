package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
)

func names(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	c := a.start(t, Setup{Engine: e, Routes: []Route{
		{Method: http.MethodGet, Pattern: "/users/{id}", Handle: ok},
		{Method: http.MethodPost, Pattern: "/users/{id}/orders/{order}", Handle: ok},
		{Method: http.MethodGet, Pattern: "/plain", Handle: ok},
	}})
	for _, request := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/users/7?page=2", http.StatusOK},
		{http.MethodGet, "/users/a%2Fb", 0},
		{http.MethodPost, "/users/7/orders/9", http.StatusOK},
		{http.MethodGet, "/plain", http.StatusOK},
		{http.MethodGet, "/nowhere", http.StatusNotFound},
		{"BREW", "/nowhere", 0},
		{"STEEP", "/nothing", 0},
	} {
		got := c.do(request.method, request.path)
		if request.status != 0 && got.status != request.status {
			t.Errorf("%s %s: status %d, want %d", request.method, request.path, got.status, request.status)
		}
	}
	want := []string{
		a.resource(http.MethodGet, "/plain"), a.resource(http.MethodGet, "/users/{id}"), "GET:unmatched",
		a.resource(http.MethodPost, "/users/{id}/orders/{order}"),
	}
	slices.Sort(want)
	got := slices.DeleteFunc(e.Resources(), func(name string) bool {
		// There or not: some frameworks refuse methods that they do not know before any middleware runs.
		return name == "OTHER:unmatched"
	})
	if !slices.Equal(got, want) {
		t.Errorf("resources %q, want %q", got, want)
	}
}

// growth is how much the heap may grow by requests for other paths.
const growth = 1 << 20

func cardinality(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	c := a.start(t, Setup{Engine: e, Routes: []Route{{Method: http.MethodGet, Pattern: "/users/{id}", Handle: ok}}})
	n := a.Paths
	if n == 0 {
		n = 10_000
	}
	visit := func(from, to int) {
		inParallel(4, from, to, func(i int) {
			c.expect(http.StatusOK, fmt.Sprintf("/users/%d", i))
			c.expect(http.StatusNotFound, fmt.Sprintf("/%x/%d", rand.Uint64(), i))
		})
	}
	visit(0, n/10)
	before := heap()
	visit(n/10, n)
	if grown := int64(heap()) - int64(before); grown >= growth {
		t.Errorf("the heap grew by %d bytes, want less than %d", grown, growth)
	}
	want := []string{a.resource(http.MethodGet, "/users/{id}"), "GET:unmatched"}
	slices.Sort(want)
	if got := e.Resources(); !slices.Equal(got, want) {
		t.Errorf("resources %.200q, want %q", got, want)
	}
	for _, name := range want {
		if s, _ := e.ResourceStats(name); s.TotalPass != int64(n) {
			t.Errorf("%s: %d calls, want %d", name, s.TotalPass, n)
		}
	}
}

func inParallel(workers, from, to int, do func(i int)) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := from + w; i < to; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
