package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// mostPort is the highest port.
const mostPort = 65535

// whole returns the JSON of a document of its own, or an error that says why it is none.
func whole(content []byte) (json.RawMessage, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")))
	if len(text) == 0 {
		return nil, errors.New("the text is empty")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return raw, nil
}

// elements takes an array at a path apart. hint says what to write instead.
func elements(path string, raw json.RawMessage, hint string) ([]json.RawMessage, error) {
	if raw[0] != '[' {
		return nil, chain.Refuse(path, "must be an array%s, not %s", hint, rulejson.Describe(raw))
	}
	list := []json.RawMessage{}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, chain.Refuse(path, "is not JSON")
	}
	return list, nil
}

// at returns the path of an element.
func at(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// under puts a path before the member that an error of a part names.
func under(path string, err error) error {
	wrong, ok := errors.AsType[*chain.MemberError](err)
	if !ok || path == "" {
		return err
	}
	own := *wrong
	own.Member = path + "." + own.Member
	return &own
}

// object reads an object at a path: fill takes its members, check judges the result.
func object(path string, raw json.RawMessage, fill func(*rulejson.Object), check func() error) (warnings []string, err error) {
	o := rulejson.ParseAt(path, raw)
	fill(o)
	warnings, err = o.Warnings(), o.Err()
	if err == nil {
		err = under(path, check())
	}
	return warnings, err
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// checkPort refuses what is no port.
func checkPort(member string, port int) error {
	if port < 1 || port > mostPort {
		return chain.Refuse(member, "must be 1 to %d, not %d", mostPort, port)
	}
	return nil
}

// checkHost refuses what cannot be the name or address of a host.
func checkHost(member, host string) error {
	if err := checkName(member, host); err != nil {
		return err
	}
	host = strings.TrimSpace(host)
	switch {
	case strings.ContainsAny(host, " /@?#"):
		return chain.Refuse(member, "must be the name or the address of a host and nothing else: %q", host)
	case strings.Count(host, ":") == 1:
		return chain.Refuse(member, "must be without the port, which is a member of its own: %q", host)
	}
	return nil
}

// checkName refuses a blank or unprintable name of a machine, a host or a namespace.
func checkName(member, name string) error {
	if blank(name) {
		return chain.Refuse(member, "must not be blank")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return chain.Refuse(member, "must not contain control characters: %q", name)
	}
	return nil
}
