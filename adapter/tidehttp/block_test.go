package tidehttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
)

// after is a rule's state that knows when to retry.
type after time.Duration

func (d after) Explain() chain.Explanation { return chain.Explanation{RetryAfter: time.Duration(d)} }

func TestWriteBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		accept, kind, body, retryHeader string
		retry                           time.Duration
	}{
		{"", "text/plain; charset=utf-8", "Blocked by Tidegate (flow)\n", "", 0},
		{"*/*", "text/plain; charset=utf-8", "Blocked", "1", time.Nanosecond},
		{"text/html,application/xhtml+xml,*/*;q=0.8", "text/plain; charset=utf-8", "Blocked", "1", time.Second},
		{"application/json", "application/json", `"retryAfterMs":1001`, "2", time.Second + time.Microsecond},
		{"application/problem+json, application/json", "application/problem+json", `"ruleId":7`, "", 0},
		{"application/json, text/plain, */*", "application/json", `"kind":"flow"`, "", 0},
		{"application/json;q=0.5, text/plain", "text/plain; charset=utf-8", "Blocked", "", 0},
		{"application/*", "application/problem+json", `"resource":"r"`, "", 0},
		{"application/json; q=0", "text/plain; charset=utf-8", "Blocked", "", 0},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		tidehttp.WriteBlock(w, r, chain.NewBlockError(chain.KindFlow, "r", flow.Rule{ID: 7}, tidegate.ErrFlow, after(c.retry)))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Content-Type") != c.kind || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("Accept %q: %d %s %q, want 429 %s with %q", c.accept, w.Code, w.Header().Get("Content-Type"), w.Body, c.kind, c.body)
		}
		if got := w.Header().Get("Retry-After"); got != c.retryHeader {
			t.Errorf("retry after %v: header %q, want %q", c.retry, got, c.retryHeader)
		}
	}
}

func TestBlockStatus(t *testing.T) {
	t.Parallel()
	for kind, want := range map[chain.Kind][2]int{
		chain.KindFlow: {429, 429}, chain.KindAuthority: {403, 403}, chain.KindDegrade: {429, 503}, chain.KindSystem: {429, 503},
	} {
		err := chain.NewBlockError(kind, "r", nil, nil, nil)
		if got := [2]int{tidehttp.BlockStatus(err), tidehttp.UnavailableStatus(err)}; got != want {
			t.Errorf("%v: statuses %v, want %v", kind, got, want)
		}
	}
	w := httptest.NewRecorder()
	tidehttp.WriteBlock(w, httptest.NewRequest(http.MethodGet, "/", nil), nil)
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("without an error: status %d", w.Code)
	}
}
