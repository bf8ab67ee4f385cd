package tidehttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// BlockStatus returns the status that a refusal is answered with: 403 where the caller is not authorized,
// else 429.
func BlockStatus(err *tidegate.BlockError) int {
	if err != nil && err.Kind == chain.KindAuthority {
		return http.StatusForbidden
	}
	return http.StatusTooManyRequests
}

// UnavailableStatus is BlockStatus, but answers 503 where a circuit breaker is open or the system is loaded.
func UnavailableStatus(err *tidegate.BlockError) int {
	if err != nil && (err.Kind == chain.KindDegrade || err.Kind == chain.KindSystem) {
		return http.StatusServiceUnavailable
	}
	return BlockStatus(err)
}

// WriteBlock answers a refused request: status by BlockStatus, Retry-After where the rule knows when to retry, and
// a body that is JSON (problem details of RFC 9457) if the request's Accept prefers it, else a line of text.
func WriteBlock(w http.ResponseWriter, r *http.Request, err *tidegate.BlockError) {
	WriteBlockStatus(w, r, err, BlockStatus(err))
}

// WriteBlockStatus is WriteBlock with another status.
func WriteBlockStatus(w http.ResponseWriter, r *http.Request, err *tidegate.BlockError, status int) {
	retry := SetRetryAfter(w.Header(), err)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	body, kind := []byte(BlockText(err)+"\n"), "text/plain; charset=utf-8"
	if accepted := acceptedJSON(r.Header.Values("Accept")); accepted != "" {
		body, kind = problem(err, status, retry), accepted
	}
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Del("Content-Encoding")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// BlockText returns the line of text that refused requests are answered with.
func BlockText(err *tidegate.BlockError) string {
	kind := chain.KindCustom
	if err != nil {
		kind = err.Kind
	}
	return "Blocked by Tidegate (" + kind.String() + ")"
}

// SetRetryAfter sets the header Retry-After, in seconds rounded up, if the rule knows when a call may pass, and
// returns that time.
func SetRetryAfter(header http.Header, err *tidegate.BlockError) time.Duration {
	retry := err.Explain().RetryAfter
	if retry <= 0 {
		return 0
	}
	seconds := (retry + time.Second - 1) / time.Second
	header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	return retry
}

// problemDetails is the JSON body: the members of RFC 9457, and ours.
type problemDetails struct {
	Title        string `json:"title"`
	Status       int    `json:"status"`
	Detail       string `json:"detail"`
	Resource     string `json:"resource"`
	Kind         string `json:"kind"`
	RuleID       int64  `json:"ruleId,omitempty"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

func problem(err *tidegate.BlockError, status int, retry time.Duration) []byte {
	p := problemDetails{Title: BlockText(err), Status: status, Detail: err.Error(), Kind: chain.KindCustom.String()}
	if err != nil {
		p.Resource, p.Kind = err.Resource, err.Kind.String()
		if rule, ok := err.Rule.(interface{ Head() chain.Head }); ok {
			p.RuleID = rule.Head().ID
		}
	}
	p.RetryAfterMs = int64((retry + time.Millisecond - 1) / time.Millisecond)
	body, _ := json.Marshal(p) //nolint:errchkjson // strings and numbers only
	return append(body, '\n')
}

const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
)

// acceptedJSON returns the JSON type that the client prefers to text, "" if it does not. Without a preference it is
// text; application/* and no text is JSON.
func acceptedJSON(accept []string) string {
	var text, anyKind, plainJSON, problemJSON float64
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			kind, q := mediaRange(part)
			switch kind {
			case typeJSON:
				plainJSON = max(plainJSON, q)
			case typeProblem:
				problemJSON = max(problemJSON, q)
			case "application/*":
				anyKind = max(anyKind, q)
			case "text/plain", "text/*":
				text = max(text, q)
			}
		}
	}
	switch best := max(plainJSON, problemJSON, anyKind); {
	case best == 0, best < text, best == text && plainJSON < text && problemJSON < text:
		return ""
	case plainJSON > problemJSON && plainJSON >= anyKind:
		return typeJSON
	}
	return typeProblem
}

// mediaRange reads one entry of an Accept header.
func mediaRange(part string) (kind string, q float64) {
	kind, parameters, _ := strings.Cut(part, ";")
	q = 1
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if parsed, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			q = parsed
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), q
}
