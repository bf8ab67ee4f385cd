// Package golang holds what reading and writing the rules of sentinel-golang share.
package golang

import (
	"regexp"
	"strings"
)

// sentinel-golang searches for a pattern anywhere in a name; here a pattern must match the whole name.
const (
	wholeOpen, wholeClose = `^(?:`, `)$`
	anyOpen, anyClose     = `(?s:.*)(?:`, `)(?s:.*)`
)

// Anchored returns the pattern for whole names that does what a search for the given one does.
func Anchored(search string) string {
	if inner, ok := unwrap(search, wholeOpen, wholeClose); ok {
		return inner
	}
	return anyOpen + search + anyClose
}

// Searched returns the pattern to search for that does what the given one does for whole names.
func Searched(whole string) string {
	if inner, ok := unwrap(whole, anyOpen, anyClose); ok {
		return inner
	}
	return wholeOpen + whole + wholeClose
}

// unwrap takes away what this package itself put around a pattern.
func unwrap(pattern, open, end string) (string, bool) {
	inner, ok := strings.CutPrefix(pattern, open)
	if !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix(inner, end); !ok {
		return "", false
	}
	_, err := regexp.Compile(inner)
	return inner, err == nil
}
