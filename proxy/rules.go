package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
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
	files []*datasource.File
}

// start puts the files into force and watches them. On error nothing is left running.
func (f *ruleFiles) start(ctx context.Context, c *Config, e *tidegate.Engine, logger *slog.Logger) error {
	p := &problems{source: c.source}
	for i, name := range c.Rules {
		path := c.source.path(name)
		file := datasource.NewFile(path, datasource.WithMaxSize(maxRules),
			datasource.WithPolicy(datasource.Policy{Start: datasource.Require}))
		f.files = append(f.files, file)
		handler := &ruleHandler{
			Loader: document.NewLoader(e, path, document.WithFormat(formatOf(path))), logger: logger.With("file", path),
		}
		if err := file.Start(ctx, handler); err != nil {
			p.add(fmt.Sprintf("rules[%d]", i), "%v", err)
		}
	}
	if err := p.err(); err != nil {
		f.close()
		return err
	}
	return nil
}

func (f *ruleFiles) close() {
	for _, file := range f.files {
		_ = file.Close() // it always returns nil
	}
}

// ruleHandler logs what became of a rule file.
type ruleHandler struct {
	*document.Loader
	logger *slog.Logger
	said   string // the last complaint; a file that stays bad is offered again and again
}

// Update puts a new text into force.
func (h *ruleHandler) Update(ctx context.Context, content []byte) error {
	before := h.Status().Revision
	err := h.Loader.Update(ctx, content)
	status := h.Status()
	complaint := ""
	if err != nil {
		complaint = err.Error()
	}
	if complaint == h.said && before == status.Revision {
		return err
	}
	h.said = complaint
	if status.LastSuccess.IsZero() || status.LastError != nil && before == status.Revision {
		h.logger.Warn("rule file refused; what was in force stays", "error", complaint)
		return err
	}
	h.logger.Info("rules in force", "accepted", status.Accepted, "refused", status.Refused, "revision", status.Revision)
	h.report(status)
	return err
}

func (h *ruleHandler) report(status document.Status) {
	for _, warning := range status.Warnings {
		h.logger.Warn("remark on the rule file", "remark", warning)
	}
	for _, rule := range status.Report.Rules {
		if rule.Verdict == chain.Refused {
			h.logger.Warn("rule refused; the others are in force", "rule", rule.String())
		}
		for _, warning := range rule.Warnings {
			h.logger.Warn("remark on a rule", "rule", rule.String(), "remark", warning)
		}
	}
}
