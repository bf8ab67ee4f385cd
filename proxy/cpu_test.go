package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkCPU(b *testing.B) {
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
	var with, without time.Duration
	n := 0
	for b.Loop() {
		t0 := cpu()
		guarded.run(b)
		t1 := cpu()
		plain.run(b)
		with += t1 - t0
		without += cpu() - t1
		n += benchWorkers * benchRound
	}
	b.ReportMetric(float64(without)/float64(with), "cpu/ratio")
	b.ReportMetric(float64(with)/float64(n)/1000, "us-with")
	b.ReportMetric(float64(without)/float64(n)/1000, "us-without")
}
