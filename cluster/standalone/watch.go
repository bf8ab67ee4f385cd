package standalone

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"time"
)

// lookEvery is the time between two looks at the files of certificates, keys and the secret.
const lookEvery = time.Second

// files returns the places of the files that protect the ports; "" for one that is not set.
func (c *Config) files() [4]string {
	return [...]string{c.path(c.SecretFile), c.path(c.TLSCert), c.path(c.TLSKey), c.path(c.TLSClientCA)}
}

// fingerprint returns a sum over the content of these files, zero where none is set. It tells what cannot be read from
// what is empty.
func (c *Config) fingerprint() (sum [sha256.Size]byte) {
	files := c.files()
	if files == [4]string{} {
		return sum
	}
	for _, file := range files {
		var content []byte
		if file != "" {
			content = head(file)
		}
		one := sha256.Sum256(content)
		sum = sha256.Sum256(append(sum[:], one[:]...))
	}
	return sum
}

// mostLooked bounds what is looked at of a file, in bytes.
const mostLooked = 1 << 20

// head returns the begin of a file, or why it cannot be read.
func head(file string) []byte {
	f, err := os.Open(file)
	if err != nil {
		return []byte("unreadable: " + err.Error())
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, mostLooked))
	if err != nil {
		return []byte("unreadable: " + err.Error())
	}
	return content
}

// watch puts renewed certificates, keys and secrets into force until the context ends: when their files have changed
// and stay the same from one look to the next, for certificate and key do not change at once.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var w watched
	for {
		select {
		case <-ticker.C:
			s.look(ctx, &w)
		case <-ctx.Done():
			return
		}
	}
}

// watched is what the looks before have found.
type watched struct {
	seen    [sha256.Size]byte
	refused [sha256.Size]byte // what could not be put into force
	pause   int               // looks until that is tried again: what was in the way may have gone
}

// retryAfter is how many looks that is.
const retryAfter = 5

// missing says whether an address is not served that should be: it could not be opened again.
func (p *parts) missing() bool {
	return p.server == nil || p.config.Admin != "" && p.admin == nil || p.config.RLSListen != "" && p.rls == nil
}

func (s *Server) look(ctx context.Context, w *watched) {
	s.mu.Lock()
	c, inForce, missing := s.parts.config, s.parts.security.sum, s.parts.missing()
	s.mu.Unlock()
	sum := c.fingerprint()
	settled := sum == w.seen
	w.seen = sum
	failed := w.refused != [sha256.Size]byte{}
	if sum != w.refused {
		w.pause = 0
	}
	if w.pause > 0 {
		w.pause--
		return
	}
	if !settled || sum == inForce && !failed && !missing {
		return
	}
	w.refused = [sha256.Size]byte{}
	if err := s.renew(ctx); err != nil {
		w.refused, w.pause = sum, retryAfter
	}
}

// renew puts the configuration in force into force again, with what its files hold now.
func (s *Server) renew(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped() || !s.started {
		return nil
	}
	next, err := s.build(ctx, s.parts, s.parts.config)
	if err != nil {
		s.note(err)
		s.reloads.byFiles = true
		return err
	}
	s.take(next)
	s.reloads.taken++
	if s.reloads.byFiles {
		s.reloads.lastError, s.reloads.byFiles = "", false
	}
	s.logger.Info("certificates and secret in force", "security", next.security.name())
	return nil
}
