package tidehttp

import (
	"net/url"
	"strings"
)

// pattern is a pattern of http.ServeMux, taken apart. Its method and host play no part here: the mux has
// compared them already.
type pattern struct {
	text      string // as written
	segments  []segment
	wildcards []string // names, in order
	resources *resources
}

// segment is what stands between two slashes.
type segment struct {
	text string // literal, unescaped; or the wildcard's name
	kind segmentKind
}

type segmentKind uint8

const (
	literal segmentKind = iota
	single              // {name}
	rest                // {name...}, or nameless after a slash at the end
	end                 // {$}: nothing follows the slash
)

// parsePattern takes a pattern that a mux has accepted apart: [METHOD ][HOST]/[PATH].
func parsePattern(text string) *pattern {
	written := text
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		text = strings.TrimLeft(text[i+1:], " \t")
	}
	if i := strings.IndexByte(text, '/'); i >= 0 {
		text = text[i:]
	}
	p := &pattern{text: written, resources: newResources(text)}
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		p.add(part)
	}
	return p
}

func (p *pattern) add(part string) {
	name, braces := strings.CutPrefix(part, "{")
	name, closed := strings.CutSuffix(name, "}")
	switch {
	case part == "":
		p.segments = append(p.segments, segment{kind: rest})
	case part == "{$}":
		p.segments = append(p.segments, segment{kind: end})
	case braces && closed && strings.HasSuffix(name, "..."):
		p.wildcard(strings.TrimSuffix(name, "..."), rest)
	case braces && closed:
		p.wildcard(name, single)
	default:
		p.segments = append(p.segments, segment{text: unescape(part)})
	}
}

func (p *pattern) wildcard(name string, kind segmentKind) {
	p.segments = append(p.segments, segment{text: name, kind: kind})
	p.wildcards = append(p.wildcards, name)
}

// match compares an escaped path with the pattern and appends the wildcards' values, unescaped, to values.
func (p *pattern) match(path string, values []string) ([]string, bool) {
	for _, s := range p.segments {
		tail, ok := strings.CutPrefix(path, "/")
		if !ok {
			return values, false
		}
		if s.kind == rest {
			if s.text != "" {
				values = append(values, unescape(tail))
			}
			return values, true
		}
		part := tail
		path = ""
		if i := strings.IndexByte(tail, '/'); i >= 0 {
			part, path = tail[:i], tail[i:]
		}
		switch part = unescape(part); {
		case s.kind == end && part != "", s.kind == literal && part != s.text, s.kind == single && part == "":
			return values, false
		case s.kind == single:
			values = append(values, part)
		}
	}
	return values, path == ""
}

// unescape resolves percent escapes; text with bad ones stays as it is.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
