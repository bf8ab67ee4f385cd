package server

import (
	"strconv"
	"time"
)

// keepHouse looks at all connections now and then, until the server is closed.
func (s *Server) keepHouse() {
	defer s.house.Done()
	ticker := time.NewTicker(s.timing.scan)
	defer ticker.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-ticker.C:
		}
		now := int64(time.Since(s.begun))
		s.tick.Store(now)
		s.service.Sweep(s.service.Now())
		s.shed.look(s.shedding)
		for c, why := range s.overdue(now) {
			c.end(why)
		}
	}
}

// overdue returns the connections that have had their time.
func (s *Server) overdue(now int64) map[*conn]end {
	var late map[*conn]end
	idle := s.idleFor.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if why := c.overdue(now, idle); why != endPeer {
			if late == nil {
				late = map[*conn]end{}
			}
			late[c] = why
		}
	}
	return late
}

// overdue returns why the connection must end, endPeer if it need not.
func (c *conn) overdue(now, idle int64) end {
	t := &c.s.timing
	first := int64(t.firstFrame)
	if idle > 0 {
		first = min(first, idle)
	}
	switch {
	case past(c.writing.Load(), now, int64(c.s.writeTimeout)):
		return endSlow
	case past(c.shaking.Load(), now, int64(t.handshake)):
		return endTLS
	case past(c.waitsFor.Load(), now, first):
		return endSilent
	case !c.spoke.Load() && now-c.born > first:
		return endSilent
	case c.stranger.Load() && now-c.last.Load() > first:
		return endSilent
	case idle > 0 && now-c.last.Load() > idle && c.tallies.pings.Load() > 1:
		return endIdle
	}
	return endPeer
}

// past says whether something that began has taken longer than it may; below 0 it may take forever.
func past(since, now, most int64) bool { return since != 0 && most >= 0 && now-since > most }

// nameOf gives a connection its name as a member.
func (s *Server) nameOf(c *conn) string {
	name := c.remote()
	if a := c.sock.LocalAddr(); a != nil {
		name += ">" + a.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for unique, i := name, 2; ; i++ {
		if s.members[unique] == 0 {
			s.members[unique] = 1
			return unique
		}
		unique = name + "#" + strconv.Itoa(i)
	}
}
