package golang_test

import (
	"regexp"
	"testing"

	"github.com/tidegate-go/tidegate/document/internal/golang"
)

func TestPatternsMeanTheSame(t *testing.T) {
	t.Parallel()
	for _, search := range []string{"b", "^a", "a$|^b", "a|b", "^(?:a)$", "^(?:a)|(?:b)$", "", ".", "(?i)B"} {
		whole := regexp.MustCompile(`^(?:` + golang.Anchored(search) + `)$`)
		back := regexp.MustCompile(golang.Searched(golang.Anchored(search)))
		for _, name := range []string{"", "a", "b", "abc", "xbx", "ba", "a\nb", "B"} {
			want := regexp.MustCompile(search).MatchString(name)
			if whole.MatchString(name) != want || back.MatchString(name) != want {
				t.Errorf("pattern %q and name %q: found %v, whole %v, back %v", search, name, want, whole.MatchString(name), back.MatchString(name))
			}
		}
	}
	if got := golang.Searched("orders.*"); got != "^(?:orders.*)$" {
		t.Errorf("searched %q", got)
	}
	if got := golang.Anchored(golang.Searched("orders.*")); got != "orders.*" {
		t.Errorf("there and back %q", got)
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for interval, want := range map[int64]int{0: 0, -1: 0, 500: 1, 1000: 2, 10000: 20, 700: 1, 1500: 1, 20000: 1} {
		if got := golang.Buckets(interval); got != want {
			t.Errorf("%d ms: %d buckets, want %d", interval, got, want)
		}
	}
}
