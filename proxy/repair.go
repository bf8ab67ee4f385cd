package proxy

import (
	"regexp"
	"strings"
)

// routePattern is a pattern with wildcards at the start of a text.
var routePattern = regexp.MustCompile(`^(?:[A-Z]+ +)?[A-Za-z0-9.:-]*/(?:[^\s,\[\]{}"'#\\]|\{[A-Za-z_]\w*(?:\.\.\.)?\}|\{\$\})*`)

// quotePatterns puts quotes around patterns with wildcards that stand bare between the brackets of YAML's flow style,
// as in {pattern: /orders/{id}, upstream: shop}. YAML does not allow braces there, people write them all the same.
// Lines stay where they are.
func quotePatterns(text string) string {
	q := &quoter{text: text, start: true}
	for q.at < len(text) {
		q.step()
	}
	return q.out.String()
}

// quoter walks through YAML text, as far as is needed to know where a value begins.
type quoter struct {
	text  string
	at    int
	out   strings.Builder
	depth int  // of brackets
	start bool // a value may begin here
}

func (q *quoter) step() {
	rest := q.text[q.at:]
	switch c := rest[0]; {
	case c == '\n':
		q.take(1)
		q.start = true
	case c == ' ' || c == '\t' || c == '\r':
		q.take(1)
	case c == '#' && (q.at == 0 || strings.ContainsRune(" \t\n", rune(q.text[q.at-1]))):
		q.take(lineEnd(rest))
	case q.start && (c == '[' || c == '{'):
		q.depth++
		q.take(1)
	case q.depth > 0 && (c == ']' || c == '}'):
		q.depth--
		q.take(1)
		q.start = false
	case q.depth > 0 && c == ',', c == ':' && (len(rest) == 1 || strings.ContainsRune(" \t\n", rune(rest[1]))),
		q.start && strings.HasPrefix(rest, "- "):
		q.take(1)
		q.start = true
	case q.start && (c == '"' || c == '\''):
		q.take(quoted(rest))
		q.start = false
	default:
		q.plain(rest)
	}
}

// plain takes a bare value, or what is left of one.
func (q *quoter) plain(rest string) {
	if pattern := routePattern.FindString(rest); q.start && q.depth > 0 && strings.Contains(pattern, "{") {
		q.out.WriteString("'" + pattern + "'")
		q.at += len(pattern)
		q.start = false
		return
	}
	q.start = false
	stop := " \t\n"
	if q.depth > 0 {
		stop += ",[]{}"
	}
	n := strings.IndexAny(rest, stop)
	if n < 0 {
		n = len(rest)
	}
	if n > 1 && rest[n-1] == ':' && (n == len(rest) || strings.ContainsRune(" \t\n", rune(rest[n]))) {
		n--
	}
	q.take(max(n, 1))
}

func (q *quoter) take(n int) {
	q.out.WriteString(q.text[q.at : q.at+n])
	q.at += n
}

func lineEnd(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// quoted returns the length of a quoted value.
func quoted(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}
