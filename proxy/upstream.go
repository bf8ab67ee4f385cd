package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/outlier"
)

// upstream sends requests to the instances of a service in turn, past those that are ejected.
type upstream struct {
	name         string
	preserveHost bool
	statuses     []int
	targets      map[string]*url.URL // by the text of the URL
	group        *outlier.Group
	transport    *http.Transport
	logger       *slog.Logger
	complained   atomic.Int64 // when, in Unix seconds
}

// complain logs that a request was not answered, at most once a second.
func (u *upstream) complain(status int, err error) {
	now := time.Now().Unix()
	if last := u.complained.Load(); last != now && u.complained.CompareAndSwap(last, now) {
		u.logger.Warn("upstream did not answer", "upstream", u.name, "status", status, "error", err.Error())
	}
}

func newUpstream(c *Upstream, logger *slog.Logger) (*upstream, error) {
	u := &upstream{
		name: c.Name, preserveHost: c.PreserveHost, statuses: c.Health.Statuses,
		targets: map[string]*url.URL{}, transport: newTransport(c), logger: logger,
	}
	for _, text := range c.URLs {
		target, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		u.targets[text] = target
	}
	check := time.Duration(or(c.Health.Check, Duration(time.Second)))
	group, err := outlier.New(outlier.Config{
		Rule: c.Health.rule(c.Name), MaxEjectionPercent: or(c.Health.MaxEjected, 1),
		ActiveRecovery: check > 0, RecoveryInterval: check, Check: u.check,
		Notify: func(address string, e circuitbreaker.Event) {
			logger.Warn("health of an instance changed", "upstream", c.Name, "url", address, "from", e.From.String(), "to", e.To.String(), "cause", e.Cause)
		},
	})
	if err != nil {
		return nil, err
	}
	group.Set(c.URLs)
	u.group = group
	return u, nil
}

func newTransport(c *Upstream) *http.Transport {
	dialer := &net.Dialer{Timeout: time.Duration(or(c.Dial, Duration(5*time.Second))), KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // bodies go through as they are
		MaxIdleConnsPerHost:   512,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   dialer.Timeout,
		ResponseHeaderTimeout: time.Duration(or(c.Response, Duration(30*time.Second))),
		ExpectContinueTimeout: time.Second,
	}
}

func (u *upstream) close() {
	_ = u.group.Close() // it always returns nil
	u.transport.CloseIdleConnections()
}

// check connects to an instance that was ejected.
func (u *upstream) check(ctx context.Context, address string) error {
	return outlier.DialTCP(ctx, hostPort(u.targets[address]))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// RoundTrip sends the request to one instance, and to the next where no connection could be made. Unlike other
// transports it changes the request, which the reverse proxy has made for it.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	body, path, rawPath := keep(r), r.URL.Path, r.URL.RawPath
	var tried []string
	var last error
	for {
		call, err := u.group.Pick(tried...)
		if err != nil {
			return nil, firstOf(last, err)
		}
		u.direct(r, u.targets[call.Address()], path, rawPath)
		response, err := u.send(r, &call)
		if err == nil || !unsent(err) || body.used() || r.Context().Err() != nil || len(tried)+1 == len(u.targets) {
			return response, err
		}
		last, tried = err, append(tried, call.Address())
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// unsent reports whether the request cannot have reached the instance.
func unsent(err error) bool {
	var at *net.OpError
	return errors.As(err, &at) && at.Op == "dial"
}

// send sends the request to the instance of the call and ends the call when the answer's header has come.
func (u *upstream) send(r *http.Request, call *outlier.Call) (*http.Response, error) {
	ended := false
	defer func() {
		if !ended {
			call.Cancel()
		}
	}()
	start := time.Now()
	response, err := u.transport.RoundTrip(r)
	ended = true
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge) || errors.Is(r.Context().Err(), context.Canceled):
		call.Cancel() // it says nothing about the instance
	case err != nil:
		call.Done(err)
	default:
		call.Complete(time.Since(start), slices.Contains(u.statuses, response.StatusCode))
	}
	return response, err
}

// direct leads the request to the instance. Path and RawPath are those that the request came with.
func (u *upstream) direct(r *http.Request, target *url.URL, path, rawPath string) {
	to := r.URL
	to.Scheme, to.Host, to.Path, to.RawPath = target.Scheme, target.Host, path, rawPath
	if base := strings.TrimSuffix(target.Path, "/"); base != "" {
		if rawPath != "" || target.RawPath != "" {
			to.RawPath = strings.TrimSuffix(target.EscapedPath(), "/") + to.EscapedPath()
		}
		to.Path = base + path
	}
	if !u.preserveHost {
		r.Host = target.Host
	}
}
