package envoyrls_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func limitOf(t *testing.T, f *fixture, domain, descriptor string) uint32 {
	t.Helper()
	return f.ask(t, request(domain, descriptor)).Statuses[0].CurrentLimit.GetRequestsPerUnit()
}

func TestReload(t *testing.T) {
	t.Parallel()
	log := &lines{}
	f := newFixture(t, sentinelFile, envoyrls.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	const descriptor = "destination_cluster=service_httpbin"
	f.ask(t, request("foo", descriptor))

	write(t, f.path, strings.ReplaceAll(sentinelFile, "count: 2", "count: many"))
	eventually(t, "the bad file is told", func() bool {
		s := f.Status().Files[0]
		return strings.Contains(s.Error, f.path) && strings.Contains(s.Error, "line 7") && s.Stale && log.has("line 7")
	})
	if got := limitOf(t, f, "foo", descriptor); got != 2 {
		t.Errorf("after a bad file: limit %d, want 2", got)
	}

	write(t, f.path, "domain: foo\nnote: x\ndescriptors:\n- {key: destination_cluster, value: service_httpbin, rate_limit: {unit: second, requests_per_unit: 9}}\n")
	eventually(t, "the good file is in force", func() bool { return limitOf(t, f, "foo", descriptor) == 9 })
	s := f.Status()
	if s.Files[0].Error != "" || len(s.Files[0].Warnings) != 1 || s.Domains[0].Format != "envoyproxy/ratelimit" {
		t.Errorf("after a good file: %+v", s)
	}
	if s.Domains[0].Rules[0].TotalHits < 3 {
		t.Errorf("the rule's figures did not go on: %+v", s.Domains[0].Rules[0])
	}

	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion is told", func() bool { return f.Status().Files[0].Deleted })
	if got := limitOf(t, f, "foo", descriptor); got != 9 {
		t.Errorf("without the file: limit %d, want 9", got)
	}
}

// What a counter holds goes on under a new limit.
func TestCountersSurviveReload(t *testing.T) {
	t.Parallel()
	file := func(n string) string {
		return "domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: day, requests_per_unit: " + n + "}}\n"
	}
	f := newFixture(t, file("3"))
	f.want(t, ok, hits(3, request("d", "k=v")))
	write(t, f.path, file("5"))
	eventually(t, "the new limit", func() bool { return limitOf(t, f, "d", "k=other") == 5 })
	f.want(t, ok, hits(2, request("d", "k=v")))
	f.want(t, over, request("d", "k=v"))
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(domain string) string {
		return "domain: " + domain + "\ndescriptors:\n- {key: k, rate_limit: {unit: day, requests_per_unit: 1000000}}\n"
	}
	write(t, filepath.Join(folder, "a.yaml"), file("a"))
	write(t, filepath.Join(folder, ".hidden.yaml"), file("hidden"))
	write(t, filepath.Join(folder, "readme.txt"), "no rules")
	f := &fixture{Service: envoyrls.New(envoyrls.WithInterval(10 * time.Millisecond))}
	if err := f.Load(context.Background(), folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	has := func(domain string) func() bool { return func() bool { return limitOf(t, f, domain, "k=v") > 0 } }
	if !has("a")() || has("hidden")() {
		t.Errorf("after start: %+v", f.Status())
	}
	write(t, filepath.Join(folder, "b.yml"), file("b"))
	eventually(t, "a new file is in force", has("b"))
	write(t, filepath.Join(folder, "c.yaml"), file("a"))
	eventually(t, "a second file for a domain is refused", func() bool {
		files := f.Status().Files
		return len(files) == 3 && strings.Contains(files[2].Error, "a.yaml already")
	})
	if err := os.Remove(filepath.Join(folder, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second file takes the first one's place", func() bool {
		files := f.Status().Files
		return len(files) == 2 && files[1].Domain == "a" && files[1].Error == ""
	})
	if err := os.Remove(filepath.Join(folder, "c.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its rules go", func() bool { return !has("a")() })
}

func TestLoadFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sentinelFile)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	write(t, bad, "domain: bad\ndescriptors:\n- {}\n")
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	err := f.Load(t.Context(), bad, missing)
	if err == nil || !strings.Contains(err.Error(), "line 3") || !strings.Contains(err.Error(), missing) {
		t.Errorf("both faults should be told: %v", err)
	}
	if err := f.Load(t.Context(), t.TempDir()); !errors.Is(err, envoyrls.ErrNoRules) {
		t.Errorf("an empty directory: %v", err)
	}
	if err := f.Load(t.Context()); !errors.Is(err, envoyrls.ErrNoRules) {
		t.Errorf("no path: %v", err)
	}
	if got := limitOf(t, f, "foo", "a=b,c=d"); got != 1 {
		t.Errorf("rules in force after failed loads: %d", got)
	}

	good := filepath.Join(t.TempDir(), "good.yaml")
	write(t, good, strings.ReplaceAll(sentinelFile, "foo", "bar"))
	if err := f.Load(context.Background(), good); err != nil {
		t.Fatal(err)
	}
	if limitOf(t, f, "foo", "a=b,c=d") != 0 || limitOf(t, f, "bar", "a=b,c=d") != 1 {
		t.Errorf("a further load should take the first one's place: %+v", f.Status())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Load(context.Background(), good); !errors.Is(err, envoyrls.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Loading starts goroutines, closing ends them: the bubble fails if one is left.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "foo.yaml")
	write(t, path, sentinelFile)
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{Service: envoyrls.New()}
		for _, paths := range [][]string{{path}, {folder}, {folder, path}} {
			if err := f.Load(t.Context(), paths...); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Load(t.Context(), folder, filepath.Join(folder, "missing.yaml")); err == nil {
			t.Error("no error for a missing file")
		}
		write(t, path, strings.ReplaceAll(sentinelFile, "count: 1.9", "count: 5"))
		time.Sleep(3 * time.Second)
		if got := limitOf(t, f, "foo", "a=b,c=d"); got != 5 {
			t.Errorf("limit %d, want 5", got)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}
