package demo

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// upstream is the service behind the gateway.
type upstream struct {
	failing atomic.Bool
	server  *http.Server
	url     string
	served  chan struct{}

	mu      sync.Mutex
	last    time.Time     // arrival at the paced route; guarded by mu
	gap     time.Duration // smallest between two arrivals; guarded by mu
	arrived int           // guarded by mu
}

func newUpstream(ctx context.Context) (*upstream, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &upstream{url: "http://" + listener.Addr().String(), served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/fast", answerAfter(2*time.Millisecond))
	mux.HandleFunc("/slow", answerAfter(80*time.Millisecond))
	mux.HandleFunc("/flaky", u.flaky)
	mux.HandleFunc("/paced", u.paced)
	u.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(u.served)
		_ = u.server.Serve(listener) // it ends by close
	}()
	return u, nil
}

func (u *upstream) close() {
	_ = u.server.Close() // the demonstration is over
	<-u.served
}

func answerAfter(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			_, _ = io.WriteString(w, "fine\n")
		case <-r.Context().Done():
		}
	}
}

func (u *upstream) flaky(w http.ResponseWriter, r *http.Request) {
	if u.failing.Load() {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	answerAfter(5*time.Millisecond)(w, r)
}

func (u *upstream) paced(w http.ResponseWriter, r *http.Request) {
	u.arrive(time.Now())
	answerAfter(5*time.Millisecond)(w, r)
}

func (u *upstream) arrive(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.arrived++; u.arrived > 1 {
		if gap := now.Sub(u.last); u.gap == 0 || gap < u.gap {
			u.gap = gap
		}
	}
	u.last = now
}

// smallestGap returns the smallest time between two arrivals at the paced route, 0 if there were less than two.
func (u *upstream) smallestGap() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gap
}
