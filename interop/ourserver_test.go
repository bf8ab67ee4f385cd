package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// ourServer is our token server in this process.
type ourServer struct {
	service *token.Service
	server  *server.Server
	address string
}

// startOurServer starts a token server with a time of its own. It ends with the test.
func startOurServer(t *testing.T, compatible bool) (*ourServer, *madeTime) {
	t.Helper()
	tm := newMadeTime()
	options := []token.Option{token.WithClock(tm.Now)}
	if compatible {
		options = append(options, token.WithCompatible())
	}
	return serve(t, token.New(options...), "127.0.0.1:0"), tm
}

// serve starts a server of a service. It ends with the test.
func serve(t *testing.T, service *token.Service, addr string, options ...server.Option) *ourServer {
	t.Helper()
	s := &ourServer{service: service, server: server.New(service, options...)}
	at, err := s.server.Listen(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	s.address = at.String()
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

func (s *ourServer) addr() string { return s.address }

func (s *ourServer) configure(config []byte) error {
	c := token.DefaultConfig()
	if config != nil {
		if err := json.Unmarshal(config, &c); err != nil {
			return err
		}
	}
	return s.service.Configure(c)
}

func (s *ourServer) load(namespace string, flowRules, paramRules []byte) error {
	var flows []flow.Rule
	var params []hotspot.Rule
	if err := errors.Join(json.Unmarshal(flowRules, &flows), json.Unmarshal(paramRules, &params)); err != nil {
		return err
	}
	return errors.Join(s.service.LoadFlow(namespace, flows).Err(), s.service.LoadParam(namespace, params).Err())
}

func (s *ourServer) connected(namespace string) (int, error) {
	return s.service.Connected(namespace), nil
}
