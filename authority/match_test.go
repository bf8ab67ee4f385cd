package authority_test

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

// Field case B72.
func TestB72Lists(t *testing.T) {
	t.Parallel()
	const list = " appA ,appB,, "
	cases := []struct {
		origin               string
		white, strict, black bool
	}{
		{"", true, false, true},
		{"appA", true, true, false},
		{"appB", true, true, false},
		{"app", false, false, true},
		{" appB", false, false, true}, // items are trimmed, the origin is not
		{"appC", false, false, true},
		{"APPA", false, false, true},
		{"appAB", false, false, true},
		{"appA,appB", false, false, true},
	}
	white, strict := authority.NewList(list, authority.White, false), authority.NewList(list, authority.White, true)
	black, strictBlack := authority.NewList(list, authority.Black, false), authority.NewList(list, authority.Black, true)
	for _, c := range cases {
		if got := white.Allows(c.origin); got != c.white {
			t.Errorf("white list, origin %q: %v", c.origin, got)
		}
		if got := strict.Allows(c.origin); got != c.strict {
			t.Errorf("strict white list, origin %q: %v", c.origin, got)
		}
		if got := black.Allows(c.origin); got != c.black || got != strictBlack.Allows(c.origin) {
			t.Errorf("black list, origin %q: %v", c.origin, got)
		}
	}
}

func TestEmptyListAllowsEveryone(t *testing.T) {
	t.Parallel()
	for _, list := range []*authority.List{{}, authority.NewList(" , ,", authority.White, true), authority.NewList("", authority.Black, false)} {
		if !list.Allows("") || !list.Allows("a") {
			t.Errorf("%+v refuses", list)
		}
	}
	if !authority.CompileOrigins(",  ,").Empty() || authority.CompileOrigins("*").Empty() {
		t.Error("Empty is wrong")
	}
}

func TestStrictRefusesEmptyOriginInSpiteOfStar(t *testing.T) {
	t.Parallel()
	if list := authority.NewList("*", authority.White, true); list.Allows("") || !list.Allows("x") {
		t.Error("a strict list of * must refuse the empty origin alone")
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	cases := []struct{ list, yes, no string }{
		{"order-*", "order- order-1 order-a*b", "order xorder-1 Order-1"},
		{"*-svc", "-svc a-svc", "svc a-svc2"},
		{"a*b*c", "abc aXbYc abbc aabcbc", "ab ac abcd xabc acb"},
		{"ab*ba", "abba abxba", "aba ab ba"}, // the two ends do not share text
		{"a**b", "ab axb", "a b"},
		{"*x*x*", "xx axbxc", "x abc"},
		{"*", "a *", ""},
		{"10.0.0.0/8", "10.1.2.3 10.255.255.255 ::ffff:10.1.2.3", "11.0.0.1 10.1.2.3:80 10.1.2 010.1.2.3 10.1.2.256 10.0.0.0/8"},
		{"10.1.2.3/8", "10.9.9.9", "11.1.2.3"}, // host bits do not matter
		{"10.1.2.3/32", "10.1.2.3", "10.1.2.4"},
		{"0.0.0.0/0", "1.2.3.4", "::1 name 1.2.3.4. .1.2.3.4 1..2.3 1.2.3.4.5"},
		{"2001:db8::/32", "2001:db8::1 2001:0DB8:0::1 2001:db8::1%eth0", "2001:db9::1 [2001:db8::1] a:b:c"},
		{"::ffff:192.168.0.0/112", "192.168.3.4 ::ffff:192.168.3.4", "192.169.0.1"},
		{"::/0", "::1 fe80::1%lo", "1.2.3.4"},
		{"10.0.0.0/33", "10.0.0.0/33", "10.0.0.0"},
		{"svc/a", "svc/a", "svc"},
		{"10.0.0.*", "10.0.0.7", "10.0.1.7"},
		{"appA, 10.0.0.0/8 ,web-*,fd00::/8", "appA 10.0.0.1 web-1 fd00::1", "appB 12.0.0.1 web fe00::1"},
	}
	for _, c := range cases {
		origins := authority.CompileOrigins(c.list)
		for origin := range strings.FieldsSeq(c.yes) {
			if !origins.Matches(origin) {
				t.Errorf("%q does not match %q", c.list, origin)
			}
		}
		no := strings.Fields(c.no)
		if !strings.HasPrefix(c.list, "*") {
			no = append(no, " "+strings.Fields(c.yes)[0]) // the origin is not trimmed
		}
		for _, origin := range no {
			if origins.Matches(origin) {
				t.Errorf("%q matches %q", c.list, origin)
			}
		}
	}
}

func TestDoubtful(t *testing.T) {
	t.Parallel()
	got := authority.Doubtful("10.0.0.0/8, 10.0.0.0/33 ,10.1/16, svc/a, ::1/129, 10.0.*/8, appA, /x, fd00::/8")
	if want := []string{"10.0.0.0/33", "10.1/16", "::1/129"}; !slices.Equal(got, want) {
		t.Errorf("Doubtful = %q, want %q", got, want)
	}
}

func TestAllowsAllocs(t *testing.T) { // not parallel: it counts allocations
	list := authority.NewList("appA,appB,10.0.0.0/8,2001:db8::/32,web-*-blue,*x*y*", authority.White, true)
	for _, origin := range []string{"appA", "10.1.2.3", "2001:db8::1", "::ffff:10.1.2.3", "web-7-blue", "other", "1.2.3", "10.0.0.0:80", "a.b.c.d", "", strings.Repeat("x", 200)} {
		if n := alloctest.Count(func() { list.Allows(origin) }); n != 0 {
			t.Errorf("origin %q: %v allocations per call, want 0", origin, n)
		}
	}
}

// A hostile origin must not take more than time in proportion to its length.
func TestPatternIsLinear(t *testing.T) {
	t.Parallel()
	origins := authority.CompileOrigins(strings.Repeat("a*", 50) + "b")
	if origins.Matches(strings.Repeat("a", 1<<20)) {
		t.Error("matches text without b")
	}
}

// FuzzList compares the list with a plain model made of regular expressions and net/netip.
func FuzzList(f *testing.F) {
	for _, seed := range [][2]string{
		{"appA,appB", "appA"},
		{" a , *b*", "xb"},
		{"10.0.0.0/8", "10.0.0.1"},
		{"::/0,a**b", "::ffff:1.2.3.4"},
		{"ab*ba", "aba"},
		{"1.2.3.4/0", "01.2.3.4"},
		{"*", ""},
		{"::ffff:0.0.0.0/90", "1.2.3.4"},
		{"fe80::%a/64", "fe80::1%a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, limitApp, origin string) {
		want, empty := model(limitApp, origin)
		origins := authority.CompileOrigins(limitApp)
		if got := origins.Matches(origin); got != want || origins.Empty() != empty {
			t.Errorf("%q matches %q: %v (empty %v), want %v (%v)", limitApp, origin, got, origins.Empty(), want, empty)
		}
		if origin != "" && !empty {
			if authority.NewList(limitApp, authority.White, false).Allows(origin) != want || authority.NewList(limitApp, authority.Black, true).Allows(origin) == want {
				t.Errorf("%q: the lists disagree about %q", limitApp, origin)
			}
		}
		authority.Doubtful(limitApp)
	})
}

func model(limitApp, origin string) (matches, empty bool) {
	empty = true
	addr, notAddr := netip.ParseAddr(origin)
	for item := range strings.SplitSeq(limitApp, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		empty = false
		if block, err := netip.ParsePrefix(item); err == nil {
			matches = matches || notAddr == nil && inBlock(block, addr)
			continue
		}
		var quoted []string
		for part := range strings.SplitSeq(item, "*") {
			quoted = append(quoted, regexp.QuoteMeta(part))
		}
		expr, err := regexp.Compile(`(?s)^` + strings.Join(quoted, `.*`) + `$`)
		matches = matches || item == origin || err == nil && expr.MatchString(origin)
	}
	return matches, empty
}

func inBlock(block netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if block.Addr().Is4In6() && block.Bits() >= 96 {
		return addr.Is4() && block.Contains(netip.AddrFrom16(addr.As16()))
	}
	return block.Contains(addr)
}

func BenchmarkAllows(b *testing.B) {
	list := authority.NewList("appA,appB,10.0.0.0/8,web-*-blue", authority.White, true)
	for _, origin := range []string{"appB", "web-7-blue", "10.1.2.3", "stranger"} {
		b.Run(origin, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list.Allows(origin)
			}
		})
	}
}
