package envoyrls

import (
	"strings"
	"unicode/utf16"
)

// An Entry is one key and value of a descriptor.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
}

// Identifier returns the name that Sentinel's Envoy token server gives a limit: the domain and, for each entry,
// "|key|value". It is not escaped, so different descriptors can have one identifier.
func Identifier(domain string, entries ...Entry) string {
	var b strings.Builder
	b.WriteString(domain)
	for _, e := range entries {
		b.WriteString("|" + e.Key + "|" + e.Value)
	}
	return b.String()
}

// FlowID returns the flow id that Sentinel's Envoy token server derives from an identifier: 2147483647 plus Java's
// 32-bit string hash. Status shows it, to find a limit again; limits are never kept by it, because different
// identifiers can have one.
func FlowID(identifier string) int64 {
	var h int32
	for _, c := range identifier {
		if high, low := utf16.EncodeRune(c); high != '\uFFFD' {
			h = 31*(31*h+high) + low
			continue
		}
		h = 31*h + c
	}
	return 1<<31 - 1 + int64(h)
}
