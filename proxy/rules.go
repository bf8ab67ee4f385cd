package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/yaml"
)

// maxRules bounds the size of a rule file.
const maxRules = 16 << 20

// formatOf returns the notation of a rule file by its name.
func formatOf(file string) document.Format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return yaml.Format{}
	}
	return document.JSON{}
}

// checkRuleFile says why a rule file cannot be put into force. Single rules that are refused are no reason.
func checkRuleFile(file string) error {
	content, err := readFile(file, maxRules)
	if err != nil {
		return err
	}
	if _, err := formatOf(file).Parse(content); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// ruleFiles are the sources of a server's rules.
type ruleFiles struct {
	files   []*datasource.File
	watched sync.WaitGroup
	end     context.CancelFunc
}

// start puts the files into force, with their cluster settings, and watches them. On error nothing is left running.
func (f *ruleFiles) start(ctx context.Context, c *Config, e *tidegate.Engine, member *cluster.Member, logger *slog.Logger) error {
	p := &problems{source: c.source}
	settings := &clusterFiles{member: member}
	watches := make([]*ruleWatch, 0, len(c.Rules))
	for i, name := range c.Rules {
		path := c.source.path(name)
		file := datasource.NewFile(path, datasource.WithMaxSize(maxRules),
			datasource.WithPolicy(datasource.Policy{Start: datasource.Require}))
		f.files = append(f.files, file)
		log := logger.With("file", path)
		watches = append(watches, &ruleWatch{state: file.State, logger: log})
		loader := document.NewLoader(e, path, document.WithFormat(formatOf(path)), document.WithCluster(settings.file(name)))
		handler := &ruleHandler{Loader: loader, logger: log}
		if err := file.Start(ctx, handler); err != nil {
			p.add(fmt.Sprintf("rules[%d]", i), "%v", err)
		}
	}
	if err := p.err(); err != nil {
		f.close()
		return err
	}
	ctx, f.end = context.WithCancel(ctx)
	f.watched.Go(func() { watch(ctx, watches) })
	return nil
}

func (f *ruleFiles) close() {
	if f.end != nil {
		f.end()
	}
	f.watched.Wait()
	for _, file := range f.files {
		_ = file.Close() // it always returns nil
	}
	f.files, f.end = nil, nil
}
