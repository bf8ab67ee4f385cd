package demo

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// stream is load on one route: so many requests at once, so often.
type stream struct {
	path  string
	every time.Duration
	burst int
}

func streams() []stream {
	return []stream{
		{"/fast", time.Second / 60, 1},
		{"/slow", time.Second / 50, 1},
		{"/flaky", time.Second / 20, 1},
		{"/paced", time.Second, pacedBurst},
	}
}

// maxFlying bounds the requests in flight, so that a machine that cannot follow gets no more of them.
const maxFlying = 200

// load generates load until ctx is done, and returns when the last request is over.
func load(ctx context.Context, gateway string) {
	transport := &http.Transport{MaxIdleConnsPerHost: maxFlying}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	slots := make(chan struct{}, maxFlying)
	var wg sync.WaitGroup
	for _, s := range streams() {
		wg.Go(func() { s.run(ctx, client, gateway, slots, &wg) })
	}
	wg.Wait()
}

func (s stream) run(ctx context.Context, client *http.Client, gateway string, slots chan struct{}, wg *sync.WaitGroup) {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		for range s.burst {
			select {
			case slots <- struct{}{}:
				wg.Go(func() {
					defer func() { <-slots }()
					request(ctx, client, gateway+s.path)
				})
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// request makes one request. What came of it is the gateway's to count.
func request(ctx context.Context, client *http.Client, url string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	response, err := client.Do(r)
	if err != nil {
		return // the demonstration is over
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}
