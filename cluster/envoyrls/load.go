package envoyrls

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tidegate-go/tidegate/datasource"
)

// Errors of Load, for errors.Is.
var (
	// ErrClosed says that the service was closed.
	ErrClosed = errors.New("rate limit service is closed; make a new one")
	// ErrNoRules says that there was no rule file.
	ErrNoRules = errors.New("no rule file; name a file, or a directory with files that end in .yaml or .yml")
)

// maxFileSize bounds a rule file.
const maxFileSize = 4 << 20

// Load puts the rules of files into force and keeps watching the files until ctx is done or Close is called. A path is a
// file, or a directory whose files that end in .yaml or .yml are read and whose names do not begin with a dot. A file is
// of Sentinel's format or envoyproxy/ratelimit's, and has one domain, which no other file has.
//
// If a file is missing or bad, Load fails and changes nothing. Later a bad file, one that has gone, or one whose domain
// another file has, leaves the rules in force that it gave before; Status and the log say what is wrong with it, with the
// line, and it is taken as soon as it is good. A file that was taken out of a directory takes its rules with it.
//
// A further Load takes the place of the one before. Counters go on.
func (s *Service) Load(ctx context.Context, paths ...string) error {
	if s == nil || s.table == nil {
		return errors.New("rate limit service is not made by New")
	}
	next, err := open(ctx, s, paths)
	if err != nil {
		next.close()
		return fmt.Errorf("loading rate limit rules: %w", err)
	}
	s.mu.Lock()
	old := s.library
	if s.closed {
		old, err = next, ErrClosed
	} else {
		s.library = next
		s.publish()
	}
	s.mu.Unlock()
	old.close()
	return err
}

// Close ends the watching of rule files. The rules stay in force.
func (s *Service) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	in := s.library
	s.mu.Unlock()
	in.close()
	return nil
}

// changed puts the rules of a library into force if it is the service's.
func (s *Service) changed(in *library) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.library == in {
		s.publish()
	}
}

// publish puts the rules of the library into force. A rule that was there before goes on with its figures. Caller holds
// mu.
func (s *Service) publish() {
	next := s.library.domains()
	kept := make(map[string]*tally, len(s.tallies))
	for _, d := range next {
		s.adopt(d.overrides, "\x00"+d.name, kept)
		for _, r := range d.rules {
			s.adopt(r, r.id, kept)
		}
	}
	s.tallies = kept
	s.rules.Store(&next)
}

// adopt gives a rule its figures. Caller holds mu.
func (s *Service) adopt(r *rule, id string, kept map[string]*tally) {
	if r.tally == nil { // not in force yet
		if r.tally = s.tallies[id]; r.tally == nil {
			r.tally = &tally{}
		}
	}
	kept[id] = r.tally
}

// put is what a file's content becomes.
func (l *library) put(name string, content []byte) error {
	d, r, err := read(content)
	if err != nil {
		return err
	}
	l.mu.Lock()
	for other, have := range l.books {
		if other != name && have.domain.name == d.name {
			l.mu.Unlock()
			return fmt.Errorf("domain %q is that of %s already; put all its descriptors into one file", d.name, other)
		}
	}
	l.books[name] = book{domain: d, warnings: r.warnings}
	l.mu.Unlock()
	l.service.changed(l)
	return nil
}

// drop takes back what a file gave.
func (l *library) drop(name string) {
	l.mu.Lock()
	delete(l.books, name)
	l.mu.Unlock()
	l.service.changed(l)
}

// domains returns what is in force by the domains' names.
func (l *library) domains() map[string]*domain {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]*domain, len(l.books))
	for b := range maps.Values(l.books) {
		all[b.domain.name] = b.domain
	}
	return all
}

// start begins to watch a file, which was found in that folder if it was not named itself; required says that it must be
// there and good.
func (l *library) start(ctx context.Context, path, folder string, required bool) error {
	policy := datasource.Policy{}
	if required {
		policy.Start = datasource.Require
	}
	file := datasource.NewFile(path, datasource.WithPolicy(policy), datasource.WithInterval(l.service.interval),
		datasource.WithMaxSize(maxFileSize))
	err := file.Start(ctx, datasource.HandlerFuncs{OnUpdate: func(_ context.Context, content []byte) error {
		return l.put(path, content)
	}})
	l.mu.Lock()
	l.files[path] = &watched{File: file, folder: folder}
	l.mu.Unlock()
	return err
}
