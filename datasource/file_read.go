package datasource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// read returns the file's content once it has settled: a file that changes while it is read is read again, a file
// changed a moment ago and a file that has just vanished get a moment.
func (f *File) read(ctx context.Context) ([]byte, os.FileInfo, error) {
	var previous []byte
	for range fileTries {
		content, before, err := f.load()
		if errors.Is(err, fs.ErrNotExist) && f.there {
			f.there = false
			pause(ctx, fileSettle)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if fresh(before) {
			pause(ctx, fileSettle)
		}
		after, err := os.Stat(f.path)
		if err == nil && (sameFile(before, after) || previous != nil && bytes.Equal(previous, content)) {
			return content, before, nil
		}
		previous = content
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	return nil, nil, fmt.Errorf("%s keeps changing while it is read; replace it by renaming a finished file", f.path)
}

// load reads the whole file as it is now.
func (f *File) load() ([]byte, os.FileInfo, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would hang
		return nil, nil, fmt.Errorf("%s is not a regular file", f.path)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // only read from
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, f.maxSize+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(content)) > f.maxSize {
		return nil, nil, fmt.Errorf("%s: %w: more than %d bytes", f.path, ErrTooLarge, f.maxSize)
	}
	return content, info, nil
}

// sameFile reports whether stat shows no difference: identity, size, time of change.
func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// fresh reports whether the file was changed so short a time ago, or by its clock in the future, that its writer may
// not be done.
func fresh(info os.FileInfo) bool {
	return time.Since(info.ModTime()) < fileSettle
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
