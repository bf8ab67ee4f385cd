package tidehttp_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

func TestClientIP(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		peer      string
		header    []string
		forwarded bool
		want      string
	}{
		{"192.0.2.1:99", nil, false, "192.0.2.1"},
		{"192.0.2.1:99", []string{"1.1.1.1"}, false, "192.0.2.1"}, // nobody trusted says so
		{"[2001:DB8::1%eth0]:99", nil, false, "2001:db8::1"},
		{"10.0.0.1:99", nil, false, "10.0.0.1"},
		{"10.0.0.1:99", []string{"1.1.1.1"}, false, "1.1.1.1"},
		{"[::ffff:10.0.0.1]:99", []string{"1.1.1.1"}, false, "1.1.1.1"},
		{"10.0.0.1:99", []string{"6.6.6.6, 1.1.1.1, 10.2.3.4"}, false, "1.1.1.1"}, // the left part is the client's invention
		{"10.0.0.1:99", []string{"6.6.6.6", "1.1.1.1", "10.2.3.4,10.2.3.5"}, false, "1.1.1.1"},
		{"10.0.0.1:99", []string{"10.7.7.7, 10.2.3.4"}, false, "10.7.7.7"},
		{"10.0.0.1:99", []string{"1.1.1.1, what, 10.2.3.4"}, false, "10.2.3.4"},
		{"10.0.0.1:99", []string{"1.1.1.1,"}, false, "10.0.0.1"},
		{"10.0.0.1:99", []string{"1.1.1.1:4711"}, false, "1.1.1.1"},
		{"10.0.0.1:99", []string{"[2001:db8::7]:4711, [fd00::1]"}, false, "2001:db8::7"},
		{"10.0.0.1:99", []string{`for=6.6.6.6, for="[2001:db8::7]:47";proto=http, By=x;For=10.1.1.1`}, true, "2001:db8::7"},
		{"10.0.0.1:99", []string{`for=1.1.1.1, for=_hidden`}, true, "10.0.0.1"},
		{"@", nil, false, "@"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		name := "X-Forwarded-For"
		if c.forwarded {
			name = "Forwarded"
			r.Header.Set("X-Forwarded-For", "6.6.6.6")
		}
		r.Header[name] = c.header
		if got := (tidehttp.Proxies{Trusted: trusted, Forwarded: c.forwarded}).ClientIP(r); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.peer, c.header, got, c.want)
		}
	}
}

func TestTLSOrigin(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := tidehttp.TLSSubject(r) + tidehttp.TLSName(r); got != "" {
		t.Errorf("without TLS: %q, want none", got)
	}
	spiffe, _ := url.Parse("spiffe://shop/cart")
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "cart"}, URIs: []*url.URL{spiffe}, DNSNames: []string{"cart.local"}}
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	if got := tidehttp.TLSSubject(r) + tidehttp.TLSName(r); got != "" {
		t.Errorf("a certificate that nobody verified: %q, want none", got)
	}
	r.TLS.VerifiedChains = [][]*x509.Certificate{{certificate}}
	if got := tidehttp.TLSSubject(r); got != "cart" {
		t.Errorf("subject %q, want cart", got)
	}
	if got := tidehttp.TLSName(r); got != "spiffe://shop/cart" {
		t.Errorf("name %q, want the URI", got)
	}
	certificate.Subject.CommonName, certificate.URIs = "", nil
	if got := tidehttp.TLSSubject(r); got != "cart.local" {
		t.Errorf("subject without common name %q, want the DNS name", got)
	}
}
