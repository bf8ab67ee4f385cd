package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate-go/tidegate/document"
	docyaml "github.com/tidegate-go/tidegate/document/yaml"
)

// maxConfig bounds the size of a configuration file.
const maxConfig = 4 << 20

// Load reads a configuration file and the files that it names. The error is a *ConfigError that names every mistake
// by line and member.
func Load(file string) (*Config, error) {
	content, err := readFile(file, maxConfig)
	if err != nil {
		return nil, &ConfigError{[]Mistake{{File: file, Reason: err.Error()}}}
	}
	return parse(file, content)
}

// parse reads a configuration. What is wrong in its form does not keep the rest from being checked.
func parse(file string, content []byte) (*Config, error) {
	p := &problems{source: source{file: file, lines: map[string]int{"": 1}}}
	root, err := parseYAML(content)
	if err != nil {
		if repaired, again := parseYAML([]byte(quotePatterns(string(content)))); again == nil {
			root, err = repaired, nil
		}
	}
	if err != nil {
		line, reason := syntaxError(content, err)
		p.addAt(line, "", "%s", reason)
		return nil, p.err()
	}
	c := &Config{}
	decode(p, root, c)
	c.source = p.source
	c.check(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// parseYAML returns the value of the one document; nil for an empty one.
func parseYAML(content []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(content))
	var root, second yaml.Node
	switch err := d.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, fmt.Errorf("yaml: line %d: there is a second document; keep one", second.Line)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return root.Content[0], nil
}

func syntaxError(content []byte, err error) (line int, reason string) {
	_, _, again := docyaml.ToJSON(content) // it corrects the line
	if at, ok := errors.AsType[*document.Error](again); ok && at.At.Line > 0 && strings.HasPrefix(at.Reason, "not YAML") {
		return at.At.Line, at.Reason
	}
	if found := regexp.MustCompile(`^yaml: line (\d+): (.*)`).FindStringSubmatch(err.Error()); found != nil {
		line, _ = strconv.Atoi(found[1])
		return line, "not YAML: " + found[2]
	}
	return 1, "not YAML: " + err.Error()
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return content, nil
}
