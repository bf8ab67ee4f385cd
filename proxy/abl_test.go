package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

func BenchmarkAbl(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	b.Cleanup(upstream.Close)
	srv := func(h http.Handler) string {
		s := httptest.NewUnstartedServer(h)
		s.Config.ReadHeaderTimeout, s.Config.IdleTimeout = 10*time.Second, 2*time.Minute
		s.Start()
		b.Cleanup(s.Close)
		return s.URL
	}
	e, _ := tidegate.New()
	g := runFor(b, strings.ReplaceAll(simple, "UPSTREAM", upstream.URL), `[]`)
	urls := map[string]string{
		"0bare":  srv(bareProxy(b, upstream.URL)),
		"1bare2": srv(bareProxy(b, upstream.URL)),
		"2mw":    srv(tidehttp.Middleware(tidehttp.WithEngine(e))(bareProxy(b, upstream.URL))),
		"3gw":    g.url,
		"4gwh":    srv(g.Handler()),
	}
	names := []string{"0bare", "1bare2", "2mw", "3gw", "4gwh"}
	loads := map[string]*load{}
	for n, u := range urls {
		loads[n] = newLoad(b, u)
		loads[n].run(b)
	}
	tot := map[string]time.Duration{}
	k := 0
	for b.Loop() {
		for i := range names {
			n := names[(i+k)%len(names)]
			t0 := cpu()
			loads[n].run(b)
			tot[n] += cpu() - t0
		}
		k++
	}
	for _, n := range names {
		b.ReportMetric(float64(tot["0bare"])/float64(tot[n]), n)
	}
	fmt.Println(k)
}
