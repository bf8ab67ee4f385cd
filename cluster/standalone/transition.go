package standalone

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
)

// A transition makes the next parts out of those before: first what has no effect on what runs, then the ports, last what
// cannot fail.
type transition struct {
	server    *Server
	old, next parts
	fresh     bool        // the next parts have a service of their own
	opened    []*ruleFile // whose rules are not in force yet
	rls       *rls        // to be opened; nil: none, or the one of the old parts
	undo      []func()    // what takes back what was done, in order
}

func (t *transition) run(ctx context.Context) error {
	if err := t.read(ctx); err != nil {
		return &ConfigError{err}
	}
	if t.fresh { // nobody uses the service yet
		if err := t.enforce(); err != nil {
			return &ConfigError{err}
		}
	}
	if err := t.openPorts(ctx); err != nil {
		return err
	}
	if t.reloadsRLS() { // it was looked at before, so it fails only if the files have changed since
		if err := t.next.limits.Load(ctx, t.next.config.rlsFiles()...); err != nil {
			return &ConfigError{fmt.Errorf("rls-rules: %w", err)}
		}
	}
	return t.commit()
}

// read reads all files, and opens and follows the rule files that are not followed yet.
func (t *transition) read(ctx context.Context) (err error) {
	c := &t.next.config
	if t.next.security, err = c.readSecurity(); err != nil {
		return err
	}
	if t.fresh {
		t.next.service = t.server.newService(c.Compat)
	}
	t.undo = append(t.undo, func() {
		for _, r := range t.opened {
			r.close()
		}
	})
	return errors.Join(t.openFiles(ctx), t.readRLS(ctx))
}

func (t *transition) openFiles(ctx context.Context) error {
	var all []error
	for _, list := range []struct {
		member   string
		bindings Bindings
		kind     chain.Kind
	}{{"namespace", t.next.config.Namespaces, chain.KindFlow}, {"param-namespace", t.next.config.ParamRules, chain.KindParam}} {
		for _, b := range list.bindings {
			name, file := split(b)
			if file == "" {
				continue
			}
			key := fileKey{name, list.kind, t.next.config.path(file)}
			if r := t.old.files[key]; r != nil && r.service == t.next.service {
				t.next.files[key] = r
				continue
			}
			r, err := openRules(ctx, t.next.service, name, list.kind, key.path, t.server.logger)
			if err != nil {
				all = append(all, fmt.Errorf("%s %s: %w", list.member, name, err))
				continue
			}
			t.next.files[key] = r
			t.opened = append(t.opened, r)
		}
	}
	return errors.Join(all...)
}

// readRLS makes the rate limit service, or finds that the one of the old parts goes on.
func (t *transition) readRLS(ctx context.Context) (err error) {
	c := &t.next.config
	if c.RLSListen == "" {
		return nil
	}
	if t.next.limits = t.old.limits; t.next.limits == nil {
		if t.next.limits, err = t.server.loadRLS(ctx, c); err != nil {
			return err
		}
		t.undo = append(t.undo, func() { _ = t.next.limits.Close() }) // it watches files; there is nothing to lose
	} else if t.reloadsRLS() {
		look, err := t.server.loadRLS(ctx, c)
		if err != nil {
			return err
		}
		_ = look.Close()
	}
	if t.next.sameRLS(&t.old) {
		t.next.rls = t.old.rls
	} else {
		t.rls = t.next.newRLS()
	}
	return nil
}

// reloadsRLS says whether the service goes on with other rules.
func (t *transition) reloadsRLS() bool {
	return t.next.limits != nil && t.next.limits == t.old.limits && !t.next.config.sameRLSRules(&t.old.config)
}

// enforce puts the limits of the configuration and the rules of the opened files into force.
func (t *transition) enforce() error {
	if err := t.next.config.configure(t.next.service, t.old.config.PerNamespace); err != nil {
		return err
	}
	for _, r := range t.opened {
		r.enforce()
	}
	return nil
}

// commit lets the next parts decide, and ends what they do not go on with. Files that are not followed any more end first,
// lest their rules come after their successors'.
func (t *transition) commit() error {
	var gone []*ruleFile
	for key, r := range t.old.files {
		if t.next.files[key] != r {
			r.close()
			gone = append(gone, r)
		}
	}
	if !t.fresh {
		if err := t.enforce(); err != nil { // it was checked
			_ = t.old.config.configure(t.old.service, t.next.config.PerNamespace) // the service had these before
			return &ConfigError{err}
		}
		t.dropRules(gone)
	}
	ctx, cancel := t.server.draining()
	defer cancel()
	t.old.rls.closeUnless(ctx, t.next.rls)
	if before := t.old.limits; before != nil && before != t.next.limits {
		_ = before.Close()
	}
	t.old.admin.closeUnless(t.next.admin)
	if before := t.old.server; before != nil && before != t.next.server {
		t.server.drain(before)
	}
	return nil
}

// dropRules takes away the rules of files that are not followed any more. Those of another file that they had replaced, or
// that have just replaced them, are in force afterwards. Namespaces that are not served any more lose all.
func (t *transition) dropRules(gone []*ruleFile) {
	for _, r := range gone {
		for _, kind := range r.kinds() {
			if heir := t.heir(r.namespace, kind); heir != nil {
				heir.again()
			} else {
				r.drop(kind)
			}
		}
	}
	for _, name := range t.old.config.served() {
		if !t.next.serves(name) {
			t.next.service.Remove(name)
		}
	}
}

// heir returns a file of the next parts that has rules of the kind for the namespace, before a document the file of that
// kind.
func (t *transition) heir(namespace string, kind chain.Kind) (heir *ruleFile) {
	for _, r := range t.next.files {
		if r.namespace == namespace && r.gives(kind) && (heir == nil || r.kind == kind) {
			heir = r
		}
	}
	return heir
}
