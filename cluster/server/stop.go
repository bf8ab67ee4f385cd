package server

import (
	"context"
	"errors"
)

// Shutdown ends the server gracefully: it accepts no more connections, answers every request that has arrived, waits a
// moment for those on their way, and closes the connections. If the context ends before that, what is left is cut off,
// and its error returned. The server cannot be used again.
func (s *Server) Shutdown(ctx context.Context) error {
	if s == nil {
		return nil
	}
	err := s.stopAccepting(stateDraining)
	for _, c := range s.all() {
		c.drain()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.running.Wait()
	}()
	select {
	case <-done:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err(), s.Close())
		<-done
		return err
	}
}

// Close ends the server at once, whatever is under way, and waits until nothing of it runs any more.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	err := s.stopAccepting(stateClosed)
	for _, c := range s.all() {
		c.cut()
	}
	s.running.Wait()
	s.house.Wait()
	return err
}

// stopAccepting closes the listeners and ends the housekeeping of a server that is closed.
func (s *Server) stopAccepting(next lifecycle) error {
	s.mu.Lock()
	before := s.state
	s.state = max(before, next)
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	if before < stateDraining && s.ended != nil {
		close(s.ended)
	}
	if before < stateClosed && next == stateClosed && s.closed != nil {
		close(s.closed)
	}
	var all []error
	for _, l := range listeners {
		all = append(all, l.close(ErrClosed))
	}
	return errors.Join(all...)
}

// all returns the connections there are.
func (s *Server) all() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	return list
}
