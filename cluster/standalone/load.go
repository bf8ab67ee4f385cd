package standalone

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxConfig bounds the size of a configuration file, in bytes.
const maxConfig = 1 << 20

// Load reads a configuration file. File names in it are relative to its folder. Errors name the file and the line.
func Load(file string) (Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return Config{}, fmt.Errorf("configuration %s: %w", file, err)
	}
	if len(content) > maxConfig {
		return Config{}, fmt.Errorf("configuration %s: larger than %d bytes", file, maxConfig)
	}
	c, err := Parse(content)
	if err != nil {
		return Config{}, fmt.Errorf("configuration %s: %w", file, err)
	}
	c.dir = filepath.Dir(file)
	return c, nil
}

// Parse reads a configuration in YAML. An unknown member is an error, for a misspelt one would switch a protection off.
func Parse(content []byte) (Config, error) {
	var c Config
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, readable(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("more than one YAML document; keep one")
	}
	return c, nil
}

// readable says what is wrong with a configuration in the file's words instead of the program's.
func readable(err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	words := strings.NewReplacer("cannot unmarshal", "cannot read", "!!str", "the text", "!!seq", "a list", "!!map", "an object",
		"!!bool ", "", "!!int ", "", "!!float ", "", "into standalone.Config", "as settings, which are NAME: VALUE",
		"into standalone.Limits", "as settings, which are NAME: VALUE", "into float64", "as a number", "into int", "as a whole number",
		"into string", "as a text", "into bool", "as true or false", "into map[string]standalone.Limits", "as NAMESPACE: settings")
	all := make([]error, len(wrong.Errors))
	for i, text := range wrong.Errors {
		line, rest, found := strings.Cut(text, ": field ")
		name, _, unknown := strings.Cut(rest, " not found in type ")
		if found && unknown {
			text = fmt.Sprintf("%s: there is no setting %s; settings are the command's flags without the dash", line, name)
		}
		all[i] = errors.New(words.Replace(text))
	}
	return errors.Join(all...)
}

// path returns the place of a file that the configuration names.
func (c *Config) path(file string) string {
	if file == "" || c.dir == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(c.dir, file)
}

// Resolve makes the names of files independent of the configuration file's folder, so that names given otherwise can
// join them.
func (c *Config) Resolve() {
	for _, file := range []*string{&c.TLSCert, &c.TLSKey, &c.TLSClientCA, &c.SecretFile} {
		*file = c.path(*file)
	}
	for _, list := range []Bindings{c.Namespaces, c.ParamRules} {
		for i, b := range list {
			if name, file := split(b); file != "" {
				list[i] = name + "=" + c.path(file)
			}
		}
	}
	for i, file := range c.RLSRules {
		c.RLSRules[i] = c.path(file)
	}
	c.dir = ""
}
