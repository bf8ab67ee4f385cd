package envoyrls

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/datasource"
)

// library watches the files of one Load.
type library struct {
	service *Service
	folders []string
	cancel  context.CancelFunc
	done    chan struct{} // closed when the watching has ended; nil before it began

	mu    sync.Mutex
	files map[string]*watched // by path; guarded by mu
	books map[string]book     // what is in force, by path; guarded by mu
}

// book is what a file gave.
type book struct {
	domain   *domain
	warnings []string
}

// watched is a file being watched.
type watched struct {
	*datasource.File
	folder  string // that it was found in; "": named itself
	missed  bool   // was not in its directory at the last look
	logged  string // the error logged last
	updates uint64 // logged so far
}

// open starts to watch the files of all paths. All faults are in its error.
func open(ctx context.Context, s *Service, paths []string) (*library, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &library{service: s, cancel: cancel, files: map[string]*watched{}, books: map[string]book{}}
	var faults []error
	for _, path := range paths {
		names, folder := []string{path}, ""
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			folder = path
			l.folders = append(l.folders, path)
			if names, err = ruleFiles(path); err != nil {
				faults = append(faults, err)
			}
		}
		for _, name := range names {
			if l.files[name] == nil {
				faults = append(faults, l.start(ctx, name, folder, true))
			}
		}
	}
	if len(l.files) == 0 {
		faults = append(faults, ErrNoRules)
	}
	if err := errors.Join(faults...); err != nil {
		return l, err
	}
	l.done = make(chan struct{})
	go l.watch(ctx)
	return l, nil
}

// close ends the watching and waits for it.
func (l *library) close() {
	if l == nil {
		return
	}
	l.cancel()
	if l.done != nil {
		<-l.done
	}
	for _, f := range l.watched() {
		_ = f.Close() // ends the watching, which cannot fail
	}
}

// watched returns the files being watched, in the order of their paths.
func (l *library) watched() []*watched {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*watched, 0, len(l.files))
	for _, f := range l.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *watched) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// watch looks for files that come and go in the directories, and logs what became of the files.
func (l *library) watch(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(l.service.interval)
	defer ticker.Stop()
	for {
		for _, f := range l.watched() {
			f.report(ctx, l.service.log)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, folder := range l.folders {
			l.look(ctx, folder)
		}
	}
}

// look compares the files of a directory with those being watched. A directory that cannot be read changes nothing.
func (l *library) look(ctx context.Context, folder string) {
	names, err := ruleFiles(folder)
	if err != nil {
		return // its files cannot be read either, and say so
	}
	for _, name := range names {
		l.mu.Lock()
		f := l.files[name]
		l.mu.Unlock()
		if f != nil {
			f.missed = false
		} else if err := l.start(ctx, name, folder, false); err != nil && ctx.Err() == nil {
			l.service.log.ErrorContext(ctx, "rate limit rule file cannot be watched", "file", name, "error", err)
		}
	}
	for _, f := range l.watched() {
		if f.folder == folder && !slices.Contains(names, f.Name()) {
			l.missing(ctx, f)
		}
	}
}

// missing takes the rules of a file back that is not in its directory at a second look either. Volume mounts and
// editors take files away for a moment.
func (l *library) missing(ctx context.Context, f *watched) {
	if !f.missed {
		f.missed = true
		return
	}
	_ = f.Close() // ends the watching, which cannot fail
	l.mu.Lock()
	delete(l.files, f.Name())
	l.mu.Unlock()
	l.drop(f.Name())
	l.service.log.InfoContext(ctx, "rate limit rule file removed", "file", f.Name())
}

// report logs what is new about a file.
func (f *watched) report(ctx context.Context, log *slog.Logger) {
	state, text := f.State(), ""
	if state.LastError != nil {
		text = state.LastError.Error()
	}
	switch {
	case text != "" && text != f.logged:
		log.ErrorContext(ctx, "rate limit rules not taken, those before stay in force", "file", f.Name(), "error", text)
	case state.Updates != f.updates:
		log.InfoContext(ctx, "rate limit rules in force", "file", f.Name(), "revision", state.Revision)
	}
	f.logged, f.updates = text, state.Updates
}

// ruleFiles returns the paths of the rule files of a directory, sorted.
func ruleFiles(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the directory of rule files: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if end := filepath.Ext(name); (end != ".yaml" && end != ".yml") || name[0] == '.' || e.IsDir() {
			continue
		}
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths, nil
}
