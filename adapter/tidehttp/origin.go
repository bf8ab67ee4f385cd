package tidehttp

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// OriginHeader returns an origin extractor for the first value of a header. Use it only where the header comes
// from somebody trusted: any client can send one.
func OriginHeader(name string) func(*http.Request) string {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) string {
		if values := r.Header[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// TLSSubject is an origin extractor: the common name of the client's verified certificate, else its first
// alternative name as TLSName returns it; "" without a verified certificate.
func TLSSubject(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return ""
	}
	if name := r.TLS.VerifiedChains[0][0].Subject.CommonName; name != "" {
		return name
	}
	return TLSName(r)
}

// TLSName is an origin extractor: the first alternative name of the client's verified certificate: of its URIs
// (such as SPIFFE ids), else DNS names, else e-mail addresses, else IP addresses; "" if there is none.
func TLSName(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return ""
	}
	certificate := r.TLS.VerifiedChains[0][0]
	switch {
	case len(certificate.URIs) > 0:
		return certificate.URIs[0].String()
	case len(certificate.DNSNames) > 0:
		return certificate.DNSNames[0]
	case len(certificate.EmailAddresses) > 0:
		return certificate.EmailAddresses[0]
	case len(certificate.IPAddresses) > 0:
		return certificate.IPAddresses[0].String()
	}
	return ""
}

// Proxies says which proxies stand before the server and in which header they tell the client's address.
// The zero value trusts none.
type Proxies struct {
	// Trusted are the networks of the proxies. Their word is taken for the address before them, nobody else's.
	Trusted []netip.Prefix
	// Forwarded reads the header Forwarded (RFC 7239) instead of X-Forwarded-For. Exactly one is read, the one
	// that the proxies write: the other can be the client's invention.
	Forwarded bool
}

// ClientIP returns the client's address: the peer's, or, if the peer is a trusted proxy, the one nearest in the
// header that is not itself a trusted proxy. Where an entry is not an address, it is the last one before it.
// It serves as origin extractor too.
func (p Proxies) ClientIP(r *http.Request) string {
	host := r.RemoteAddr
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if !p.Trusts(address) {
		if address.Is4() {
			return host
		}
		return plain(address).String()
	}
	return p.walk(r, plain(address)).String()
}

// Trusts reports whether the address is that of a trusted proxy.
func (p Proxies) Trusts(address netip.Addr) bool {
	address = plain(address)
	return slices.ContainsFunc(p.Trusted, func(network netip.Prefix) bool { return network.Contains(address) })
}

// TrustsPeer reports whether the request came from a trusted proxy.
func (p Proxies) TrustsPeer(r *http.Request) bool {
	if len(p.Trusted) == 0 {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.Trusts(peer.Addr())
}

// walk goes from the nearest hop to the farthest while the proxies are trusted.
func (p Proxies) walk(r *http.Request, address netip.Addr) netip.Addr {
	header := "X-Forwarded-For"
	if p.Forwarded {
		header = "Forwarded"
	}
	lines := r.Header[header]
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			var hop string
			at := strings.LastIndexByte(line, ',')
			hop, more = line[at+1:], at >= 0
			line = line[:max(at, 0)]
			next, ok := parseHop(hop, p.Forwarded)
			if !ok {
				return address
			}
			if address = next; !p.Trusts(next) {
				return address
			}
		}
	}
	return address
}

// parseHop reads one entry: an address, with or without port, or the for= of an element of Forwarded.
func parseHop(hop string, forwarded bool) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if forwarded {
		hop = forwardedFor(hop)
	}
	if at, err := netip.ParseAddrPort(hop); err == nil {
		return plain(at.Addr()), true
	}
	hop = strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]")
	address, err := netip.ParseAddr(hop)
	return plain(address), err == nil
}

func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// plain drops the zone and the IPv6 form of IPv4 addresses, so that one client has one name.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
