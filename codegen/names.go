package codegen

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// names is a set of identifiers that are taken.
type names map[string]bool

func newNames(taken ...string) names {
	n := names{}
	n.take(taken...)
	return n
}

func (n names) take(taken ...string) {
	for _, t := range taken {
		n[t] = true
	}
}

// fresh takes and returns want, or if it is taken or no identifier, want with a number behind it.
func (n names) fresh(want string) string {
	name := want
	for i := 2; n[name] || token.IsKeyword(name); i++ {
		name = want + strconv.Itoa(i)
	}
	n[name] = true
	return name
}

// predeclared returns the identifiers of the universe, which imports must not hide.
func predeclared() []string { return types.Universe.Names() }

// fileName returns the file for a type: HTTPStore gives http_store_guarded.go.
func fileName(typ string) string {
	var b strings.Builder
	runes := []rune(typ)
	small := func(i int) bool { return i < len(runes) && (unicode.IsLower(runes[i]) || unicode.IsDigit(runes[i])) }
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (small(i-1) || runes[i-1] != '_' && small(i+1)) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String() + "_guarded.go"
}

// upperFirst returns name with its first letter in upper case.
func upperFirst(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

// packageName makes a package name of a directory's.
func packageName(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, dir)
	if !token.IsIdentifier(name) {
		return "guarded"
	}
	return name
}
