package authority

import (
	"net/netip"
	"slices"
	"strings"
)

// Origins is a compiled list of origins, as the limitApp of a rule gives it: items separated by commas,
// surrounding space trimmed, empty items dropped. An item is
//   - a CIDR block such as 10.0.0.0/8 or 2001:db8::/32, which matches an origin that is an IP address
//     in it (without port; an IPv4 address in its IPv6 form counts as IPv4, a zone is ignored);
//   - else, if it has a *, a pattern: each * stands for any run of characters, also none;
//   - else a name, which matches the equal origin, case and all. So does text that looks like a CIDR
//     block but is none: see Doubtful.
//
// The zero value is an empty list, which matches nothing. Origins is immutable: safe for concurrent use.
type Origins struct {
	names    map[string]struct{}
	patterns []pattern
	blocks   []netip.Prefix
}

// CompileOrigins compiles a list. Every text is a list; one of nothing but commas and space is empty.
func CompileOrigins(limitApp string) Origins {
	var o Origins
	for item := range items(limitApp) {
		block, err := netip.ParsePrefix(item)
		switch {
		case err == nil:
			o.blocks = append(o.blocks, plainBlock(block))
		case strings.Contains(item, "*"):
			o.patterns = append(o.patterns, compilePattern(item))
		default:
			if o.names == nil {
				o.names = make(map[string]struct{})
			}
			o.names[item] = struct{}{}
		}
	}
	return o
}

// items yields the items of a list.
func items(limitApp string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(limitApp, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}

// Empty reports whether the list has no item.
func (o Origins) Empty() bool {
	return len(o.names) == 0 && len(o.patterns) == 0 && len(o.blocks) == 0
}

// Matches reports whether an item matches the origin, which is taken as it is, space included.
// It allocates nothing (but for text of the shape of an IPv6 address that is none).
func (o Origins) Matches(origin string) bool {
	if _, found := o.names[origin]; found {
		return true
	}
	for i := range o.patterns {
		if o.patterns[i].matches(origin) {
			return true
		}
	}
	return len(o.blocks) > 0 && o.inBlock(origin)
}

func (o Origins) inBlock(origin string) bool {
	addr, ok := parseAddr(origin)
	return ok && slices.ContainsFunc(o.blocks, func(b netip.Prefix) bool { return b.Contains(addr) })
}

// Doubtful returns the items that look like a CIDR block and are none, such as 10.0.0.0/33 or 10.1/16.
// They count as names and so will hardly match anything; a rule's load report should say so.
func Doubtful(limitApp string) []string {
	var doubtful []string
	for item := range items(limitApp) {
		address, _, found := strings.Cut(item, "/")
		if !found || strings.Contains(item, "*") || !looksNumeric(address) {
			continue
		}
		if _, err := netip.ParsePrefix(item); err != nil {
			doubtful = append(doubtful, item)
		}
	}
	return doubtful
}

// looksNumeric reports whether text has only digits and dots, or is written like an IPv6 address.
func looksNumeric(text string) bool {
	return text != "" && (strings.Trim(text, "0123456789.") == "" || strings.Count(text, ":") >= 2)
}

// plainBlock returns a block of IPv4 addresses in IPv6 form as one of IPv4 addresses.
func plainBlock(b netip.Prefix) netip.Prefix {
	const mapped = 96 // bits before the IPv4 address
	if b.Addr().Is4In6() && b.Bits() >= mapped {
		return netip.PrefixFrom(b.Addr().Unmap(), b.Bits()-mapped).Masked()
	}
	return b.Masked()
}

// parseAddr reads an IP address. Other text is mostly told by its shape, since the error of
// netip.ParseAddr is allocated.
func parseAddr(text string) (netip.Addr, bool) {
	switch {
	case strings.Count(text, ":") >= 2:
		addr, err := netip.ParseAddr(text)
		return addr.Unmap().WithZone(""), err == nil
	case isIPv4(text):
		addr, err := netip.ParseAddr(text)
		return addr, err == nil
	}
	return netip.Addr{}, false
}

// isIPv4 reports whether text is four numbers from 0 to 255 without leading zeros, with dots between.
func isIPv4(text string) bool {
	dots, digits, value := 0, 0, 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '.' && digits > 0:
			dots, digits, value = dots+1, 0, 0
		case c >= '0' && c <= '9' && (digits == 0 || value > 0):
			digits, value = digits+1, value*10+int(c-'0')
		default:
			return false
		}
		if value > 255 {
			return false
		}
	}
	return dots == 3 && digits > 0
}

// pattern is an item with at least one *.
type pattern struct {
	first, last string   // before the first and after the last *
	inner       []string // between two *, in order, none empty
}

func compilePattern(item string) pattern {
	parts := strings.Split(item, "*")
	inner := slices.DeleteFunc(slices.Clone(parts[1:len(parts)-1]), func(s string) bool { return s == "" })
	return pattern{first: parts[0], last: parts[len(parts)-1], inner: inner}
}

// matches finds each inner part at its first place after the one before, which is enough: a later
// place would only leave less text for the parts that follow.
func (p *pattern) matches(text string) bool {
	if len(text) < len(p.first)+len(p.last) || !strings.HasPrefix(text, p.first) || !strings.HasSuffix(text, p.last) {
		return false
	}
	text = text[len(p.first) : len(text)-len(p.last)]
	for _, part := range p.inner {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
