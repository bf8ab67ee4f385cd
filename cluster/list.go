package cluster

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// parser reads what stands at a path.
type parser[T any] func(path string, raw json.RawMessage) (value T, warnings []string, err error)

// parseWhole reads a document of its own.
func parseWhole[T any](content []byte, parse parser[T]) (value T, warnings []string, err error) {
	raw, err := whole(content)
	if err != nil {
		return value, nil, err
	}
	value, warnings, err = parse("", raw)
	return value, warnings, named(err)
}

// named makes an error about a whole text say so.
func named(err error) error {
	if wrong, ok := err.(*chain.MemberError); ok && wrong.Member == "" { //nolint:errorlint // parsers return it bare
		return fmt.Errorf("the text %s", wrong.Reason)
	}
	return err
}

// parseList reads an array whose elements count together: the error joins those of all elements, and with one there is
// no list. remarks says what there is to say of a good one.
func parseList[T any](path string, raw json.RawMessage, hint string, parse parser[T], remarks func(string, []T) []string) ([]T, []string, error) {
	texts, err := elements(path, raw, hint)
	if err != nil {
		return nil, nil, err
	}
	list, warnings, errs := make([]T, len(texts)), []string(nil), []error(nil)
	for i, text := range texts {
		value, more, err := parse(at(path, i), text)
		list[i], warnings = value, append(warnings, more...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, warnings, errors.Join(errs...)
	}
	return list, append(warnings, remarks(path, list)...), nil
}

// ParseNamespaceSet reads the namespaces that a token server serves, an array of strings. [] stands for "default" alone.
// The error joins one *chain.MemberError per wrong element; the warnings name repeated ones.
func ParseNamespaceSet(content []byte) (namespaces, warnings []string, err error) {
	return parseWhole(content, parseNamespaces)
}

func parseNamespaces(path string, raw json.RawMessage) ([]string, []string, error) {
	return parseList(path, raw, " of strings", parseNamespace, namespaceRemarks)
}

func namespaceRemarks(path string, list []string) []string {
	var warnings []string
	first := map[string]int{}
	for i, name := range list {
		if j, again := first[name]; again {
			warnings = append(warnings, fmt.Sprintf("%s: %q stands at %d already", at(path, i), name, j))
		} else {
			first[name] = i
		}
	}
	return warnings
}

func parseNamespace(path string, raw json.RawMessage) (name string, warnings []string, err error) {
	if raw[0] != '"' || json.Unmarshal(raw, &name) != nil {
		return "", nil, chain.Refuse(path, "must be a string, not %s", rulejson.Describe(raw))
	}
	return name, nil, checkName(path, name)
}
