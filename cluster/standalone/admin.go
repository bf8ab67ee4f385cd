package standalone

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// admin is the address that tells what the server does.
type admin struct {
	server *http.Server
	addr   net.Addr
	served sync.WaitGroup
}

func (s *Server) serveAdmin(ctx context.Context, address string) (*admin, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	a := &admin{addr: listener.Addr(), server: &http.Server{
		Handler: s.adminHandler(), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}}
	a.served.Go(func() { _ = a.server.Serve(listener) }) // it ends by Close
	return a, nil
}

func (s *Server) adminHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.serveStatus)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

func (s *Server) serveStatus(w http.ResponseWriter, _ *http.Request) {
	text, err := json.MarshalIndent(s.Status(), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n')) // the client has left; there is nobody to tell
}

func (p *parts) adminAddr() net.Addr {
	if p.admin == nil {
		return nil
	}
	return p.admin.addr
}

// closeUnless ends the address unless it is the other one.
func (a *admin) closeUnless(other *admin) {
	if a == nil || a == other {
		return
	}
	_ = a.server.Close() // what is being told can be asked again
	a.served.Wait()
}
