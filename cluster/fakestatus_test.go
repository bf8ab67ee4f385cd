package cluster_test

import (
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
)

// fakeStatus is what a client says of itself. The caller holds the network's mu.
func fakeStatus(c *fakeClient) client.Status {
	s := client.Status{Target: c.server, State: client.StateConnecting}
	switch {
	case !c.started || c.server == "":
		s.State = client.StateOff
	case c.n.up[c.server]:
		s.State = client.StateReady
	default:
		s.LastError = "refused"
	}
	return s
}

// Status tells where the server listens, and that listeners at places that are taken have ended.
func (s *fakeServer) Status() (status server.Status) {
	s.n.with(func() {
		for _, at := range s.at {
			l := server.ListenerStatus{Address: at}
			if s.n.taken[at] {
				l.Error = "listener died"
			}
			status.Listeners = append(status.Listeners, l)
		}
	})
	return status
}
