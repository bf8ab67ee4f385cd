package token

import "slices"

// mostJoined bounds in how many namespaces one member is counted.
const mostJoined = 64

// A member is a client, usually a connection.
type member struct{ spaces []*space }

// Join counts a member, such as a connection, in a namespace, once however often it joins, and returns how many are
// counted there now. A member may join several namespaces, up to 64; beyond it is not counted. A blank member joins
// nothing.
func (s *Service) Join(who, ns string) (connected int) {
	if s.none() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.space(namespace(ns))
	defer s.drop(sp)
	if who == "" {
		return int(sp.connected.Load())
	}
	m := s.members[who]
	if m == nil {
		m = &member{}
		s.members[who] = m
	}
	if !slices.Contains(m.spaces, sp) && len(m.spaces) < mostJoined {
		m.spaces = append(m.spaces, sp)
		sp.connected.Add(1)
	}
	return int(sp.connected.Load())
}

// Leave takes a member out of all its namespaces. Its concurrency tokens are taken back when their rules'
// clientOfflineTime is over.
func (s *Service) Leave(who string) {
	if s.none() {
		return
	}
	s.mu.Lock()
	m := s.members[who]
	delete(s.members, who)
	if m != nil {
		for _, sp := range m.spaces {
			sp.connected.Add(-1)
			s.drop(sp)
		}
	}
	s.mu.Unlock()
	s.tokens.seen(who, s.Now())
}

// joined says whether a member is counted anywhere.
func (s *Service) joined(who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[who] != nil
}

// Connected returns how many members are counted in a namespace.
func (s *Service) Connected(ns string) int {
	if s.none() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.spaces[namespace(ns)]; sp != nil {
		return int(sp.connected.Load())
	}
	return 0
}
