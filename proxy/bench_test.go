package proxy_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/proxy"
)

const (
	benchWorkers = 8
	benchRound   = 25 // requests of each worker in each half of a round
)

// BenchmarkGateway measures the gateway's throughput with rules in force against that of the same reverse proxy
// without: gateway/ratio is the median over rounds, in each of which both serve the same number of requests, one after
// the other in changing order. cpu/ratio is likewise that of the processor time for a request, client and upstream
// included, which a busy machine disturbs less. A round is one operation.
func BenchmarkGateway(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	b.Cleanup(upstream.Close)
	g := runFor(b, strings.ReplaceAll(simple, "UPSTREAM", upstream.URL), `{
		"flowRules": [{"resource":"GET:/orders/{id}","count":1e9}],
		"isolationRules": [{"resource":"GET:/orders/{id}","count":1000000}],
		"degradeRules": [{"resource":"GET:/orders/{id}","grade":1,"count":0.9,"timeWindow":1}]}`)
	bare := httptest.NewUnstartedServer(bareProxy(b, upstream.URL))
	bare.Config.ReadHeaderTimeout, bare.Config.IdleTimeout = 10*time.Second, 2*time.Minute // as the gateway
	bare.Start()
	b.Cleanup(bare.Close)
	guarded, plain := newLoad(b, g.url), newLoad(b, bare.URL)
	guarded.run(b)
	plain.run(b)
	var ratios, processor []float64
	for b.Loop() {
		var with, without spent
		if len(ratios)%2 == 0 {
			with, without = guarded.run(b), plain.run(b)
		} else {
			without, with = plain.run(b), guarded.run(b)
		}
		ratios = append(ratios, float64(without.time)/float64(with.time))
		processor = append(processor, float64(without.cpu)/float64(max(with.cpu, 1)))
	}
	b.ReportMetric(median(ratios), "gateway/ratio")
	b.ReportMetric(median(processor), "cpu/ratio")
	if s, _ := g.Engine().ResourceStats("GET:/orders/{id}"); s.TotalPass == 0 {
		b.Error("the gateway's requests were not counted")
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// bareProxy is the gateway's reverse proxy without the gateway: same router, transport and buffers.
func bareProxy(b *testing.B, to string) http.Handler {
	b.Helper()
	target, err := url.Parse(to)
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/orders/{id}", &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.SetXForwarded()
		},
		Transport:  proxy.NewTransport(&proxy.Upstream{}),
		BufferPool: proxy.NewBuffers(),
	})
	return mux
}

// load makes requests over connections of its own, with as little work of its own as possible.
type load struct {
	request []byte
	conns   []*bufio.ReadWriter
}

func newLoad(b *testing.B, to string) *load {
	b.Helper()
	host := strings.TrimPrefix(to, "http://")
	l := &load{request: []byte("GET /orders/7 HTTP/1.1\r\nHost: " + host + "\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n")}
	for range benchWorkers {
		conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", host)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		l.conns = append(l.conns, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
	}
	return l
}

// spent is what one half of a round took.
type spent struct{ time, cpu time.Duration }

// run makes one half of a round.
func (l *load) run(b *testing.B) spent {
	b.Helper()
	start, used := time.Now(), cpuTime()
	var wg sync.WaitGroup
	for _, conn := range l.conns {
		wg.Go(func() {
			for range benchRound {
				if err := l.exchange(conn); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return spent{time.Since(start), cpuTime() - used}
}

func (l *load) exchange(conn *bufio.ReadWriter) error {
	_, _ = conn.Write(l.request)
	if err := conn.Flush(); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := conn.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.Contains(line, []byte(" 200 ")):
			return textproto.ProtocolError(line)
		case len(line) <= 2:
			_, err := conn.Discard(length)
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
}
