package proxy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Mistake is one thing wrong in a configuration.
type Mistake struct {
	File   string // "": made in Go
	Line   int    // 0: unknown
	Member string // such as routes[0].upstream; "": the whole
	Reason string
}

// String returns "FILE:LINE: MEMBER: REASON".
func (m Mistake) String() string {
	text := ""
	if m.File != "" {
		text = m.File + ":"
		if m.Line > 0 {
			text += fmt.Sprintf("%d:", m.Line)
		}
		text += " "
	}
	if m.Member != "" {
		text += m.Member + ": "
	}
	return text + m.Reason
}

// ConfigError is everything wrong in a configuration, in the order of lines.
type ConfigError struct{ Mistakes []Mistake }

// Error returns a line for each mistake.
func (e *ConfigError) Error() string {
	if e == nil || len(e.Mistakes) == 0 {
		return "bad configuration"
	}
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// source is where a configuration came from.
type source struct {
	file  string
	lines map[string]int // by member
}

// line returns the line of a member, or, if it is not there, of what it belongs to.
func (s source) line(member string) int {
	for {
		if line, ok := s.lines[member]; ok {
			return line
		}
		if member == "" {
			return 0
		}
		member = parent(member)
	}
}

// parent returns what a member belongs to.
func parent(member string) string { return member[:max(strings.LastIndexAny(member, ".["), 0)] }

// path returns a file's path: relative ones are relative to the configuration file.
func (s source) path(name string) string {
	if s.file == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(s.file), name)
}

// problems collects mistakes.
type problems struct {
	source source
	list   []Mistake
	broken map[string]bool // members whose values could not be read
}

// add notes a mistake at the line of the member.
func (p *problems) add(member, reason string, args ...any) {
	p.addAt(p.source.line(member), member, reason, args...)
}

func (p *problems) addAt(line int, member, reason string, args ...any) {
	p.list = append(p.list, Mistake{File: p.source.file, Line: line, Member: member, Reason: fmt.Sprintf(reason, args...)})
}

// err returns a *ConfigError, nil if there is no mistake.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return &ConfigError{Mistakes: p.list}
}

// breakAt notes that the value of a member could not be read.
func (p *problems) breakAt(line int, member, reason string, args ...any) {
	p.addAt(line, member, reason, args...)
	if p.broken == nil {
		p.broken = map[string]bool{}
	}
	p.broken[member] = true
}

// about reports whether the member, or what it belongs to, could not be read, so that it need not be checked further.
func (p *problems) about(member string) bool {
	for ; member != ""; member = parent(member) {
		if p.broken[member] {
			return true
		}
	}
	return p.broken[""]
}

// within reports whether the member, or something that belongs to it, could not be read.
func (p *problems) within(member string) bool {
	for broken := range p.broken {
		if broken == "" || strings.HasPrefix(broken, member) {
			return true
		}
	}
	return false
}
