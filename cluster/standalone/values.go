package standalone

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time span as time.ParseDuration reads it, such as 500ms or 10m.
type Duration time.Duration

// Set reads the span; flags use it.
func (d *Duration) Set(text string) error {
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return fmt.Errorf("%q is not a time such as 500ms, 20s or 10m", text)
	}
	*d = Duration(span)
	return nil
}

// String returns the span as time.Duration prints it.
func (d *Duration) String() string {
	if d == nil {
		return ""
	}
	return time.Duration(*d).String()
}

// UnmarshalYAML reads the span.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: must be a time such as 500ms, 20s or 10m", n.Line)
	}
	if err := d.Set(n.Value); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// Bindings are values such as NAME=FILE, in the order given. In the configuration file they are a list, one text, or an
// object NAME: FILE.
type Bindings []string

// Set adds one value; flags use it.
func (b *Bindings) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("must not be empty")
	}
	*b = append(*b, text)
	return nil
}

// String returns the values with commas between them.
func (b *Bindings) String() string {
	if b == nil {
		return ""
	}
	return strings.Join(*b, ",")
}

// UnmarshalYAML reads the values.
func (b *Bindings) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil
		}
		return b.Set(n.Value)
	case yaml.SequenceNode:
		for _, element := range n.Content {
			if err := b.UnmarshalYAML(element); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, file := n.Content[i], n.Content[i+1]
			switch {
			case file.Kind != yaml.ScalarNode:
				return fmt.Errorf("line %d: %s must be a file name", file.Line, name.Value)
			case file.Tag == "!!null":
				*b = append(*b, name.Value)
			default:
				*b = append(*b, name.Value+"="+file.Value)
			}
		}
		return nil
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return fmt.Errorf("line %d: must be a list of texts", n.Line)
}

// split returns the parts of NAME=FILE; file is "" where there is none.
func split(binding string) (name, file string) {
	name, file, _ = strings.Cut(binding, "=")
	return strings.TrimSpace(name), strings.TrimSpace(file)
}
