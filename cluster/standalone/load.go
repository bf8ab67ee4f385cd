package standalone

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		return Config{}, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("more than one YAML document; keep one")
	}
	return c, nil
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
