package datasource

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Defaults and fixed times of a File.
const (
	fileInterval = 500 * time.Millisecond // between two looks
	fileRehash   = time.Second            // content is read at least so often, whatever stat says
	fileSettle   = 100 * time.Millisecond // a file changed less than this ago may be half written
	fileTries    = 4                      // reads of a file that changes while it is read, per look
	fileMaxSize  = 4 << 20
)

// A File is the source of one file. It looks at the file every 500 ms and reads it when size, time or identity have
// changed, after an error, and at least every second: a change is in force within 2 seconds. Editors that write in
// place, atomic replacement, renaming away and back, and the symbolic links of a mounted ConfigMap all work. A missing
// file (also a dangling link) is a deletion when it is still missing 100 ms later. Make one with NewFile.
type File struct {
	feed     *Feed
	path     string
	interval time.Duration
	maxSize  int64

	// Used by the watching goroutine only.
	seen   os.FileInfo // of the content in force; nil: read at the next look
	readAt time.Time   // when the content was read last
	there  bool        // the last look found a file
}

// A FileOption sets up a File.
type FileOption func(*fileSettings)

type fileSettings struct {
	name     string
	policy   Policy
	interval time.Duration
	maxSize  int64
}

// WithName sets the source's name. Default: the path.
func WithName(name string) FileOption { return func(s *fileSettings) { s.name = name } }

// WithPolicy sets what a missing or bad file at start and a deletion do. Default: the zero Policy.
func WithPolicy(p Policy) FileOption { return func(s *fileSettings) { s.policy = p } }

// WithInterval sets the time between two looks. Default, and for 0 or less: 500 ms.
func WithInterval(d time.Duration) FileOption { return func(s *fileSettings) { s.interval = d } }

// WithMaxSize sets the size in bytes above which a file is not read, which is an ErrTooLarge. Default, and for 0 or
// less: 4 MiB.
func WithMaxSize(n int64) FileOption { return func(s *fileSettings) { s.maxSize = n } }

// NewFile returns a source for the file at path, which need not exist. A relative path is relative to the working
// directory at each look.
func NewFile(path string, opts ...FileOption) *File {
	settings := fileSettings{name: path}
	for _, opt := range opts {
		if opt != nil {
			opt(&settings)
		}
	}
	f := &File{
		feed:     NewFeed(settings.name, settings.policy),
		path:     path,
		interval: settings.interval,
		maxSize:  settings.maxSize,
	}
	if f.interval <= 0 {
		f.interval = fileInterval
	}
	if f.maxSize <= 0 {
		f.maxSize = fileMaxSize
	}
	return f
}

// Name returns the source's name.
func (f *File) Name() string { return f.shared().Name() }

// State returns the source's state. Its Revision is the SHA-256 of the content in force, in hex.
func (f *File) State() State { return f.shared().State() }

// Start reads the file, hands it to h and goes on watching; see Source. All calls of h come from one goroutine.
func (f *File) Start(ctx context.Context, h Handler) error {
	feed := f.shared()
	if feed != nil && f.path == "" {
		return errors.New("data source: path of the file is empty")
	}
	return feed.Start(ctx, h, f.watch)
}

// Close ends the watching; see Source. The file stays as it is.
func (f *File) Close() error { return f.shared().Close() }

func (f *File) shared() *Feed {
	if f == nil {
		return nil
	}
	return f.feed
}

// watch looks at the file at every tick until ctx is done.
func (f *File) watch(ctx context.Context) {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for {
		f.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look reads the file if it may have changed and reports what there is.
func (f *File) look(ctx context.Context) {
	now := time.Now()
	if f.unchanged(now) {
		f.feed.Confirm()
		return
	}
	content, info, err := f.read(ctx)
	if ctx.Err() != nil {
		return
	}
	f.seen, f.readAt = nil, now
	f.there = !errors.Is(err, fs.ErrNotExist)
	switch {
	case !f.there:
		_ = f.feed.Absent(ctx) // the state has the error, and the next look is the retry
	case err != nil:
		_ = f.feed.Fail(err)
	case f.feed.Content(ctx, content, "") == nil:
		f.seen = info
	}
}

// unchanged reports whether the file looks like the one in force and its content need not be compared at this tick
// already, because the next one is early enough.
func (f *File) unchanged(now time.Time) bool {
	if f.seen == nil || now.Sub(f.readAt)+f.interval > fileRehash {
		return false
	}
	info, err := os.Stat(f.path)
	return err == nil && sameFile(f.seen, info)
}
