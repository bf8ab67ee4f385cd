package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/document"
)

// ruleHandler logs what became of the texts of a rule file that are in force; a ruleWatch logs the others.
type ruleHandler struct {
	*document.Loader
	logger *slog.Logger
}

// Update puts a new text into force.
func (h *ruleHandler) Update(ctx context.Context, content []byte) error {
	before := h.Status().Document
	err := h.Loader.Update(ctx, content)
	if status := h.Status(); status.Document != before {
		h.summary(status)
		h.details(status)
	}
	return err
}

// summary logs one line about the whole text.
func (h *ruleHandler) summary(status document.Status) {
	report := status.Report
	about := []any{"accepted", report.Count(chain.Loaded) + report.Count(chain.Observed)}
	for _, verdict := range []chain.Verdict{chain.Duplicate, chain.Disabled} {
		if n := report.Count(verdict); n > 0 {
			about = append(about, verdict.String(), n)
		}
	}
	about = append(about, "refused", status.Refused)
	var kept []string
	for _, e := range status.Document.Errors {
		if e.Index < 0 {
			kept = append(kept, e.Section)
		}
	}
	if len(kept) > 0 {
		about = append(about, "kept", strings.Join(kept, ", "))
	}
	h.logger.Info("rules in force", append(about, "revision", status.Revision)...)
}

// details logs what is wrong and what is remarkable.
func (h *ruleHandler) details(status document.Status) {
	at := map[string]document.Position{}
	for _, e := range status.Document.Errors {
		if e.Index < 0 {
			h.logger.Warn("part of the rule file refused; what was in force for it stays", "part", e.Section, "error", e.Error())
			continue
		}
		at[place(e.Section, e.Index)] = e.At
	}
	for _, wrong := range clusterErrors(status) {
		h.logger.Warn("part of the cluster settings refused; what was in force for it stays", "error", wrong.Error())
	}
	for _, warning := range status.Warnings {
		h.logger.Warn("remark on the rule file", "remark", warning)
	}
	for _, rule := range status.Report.Rules {
		section := document.SectionName(rule.Kind)
		if status.Document.Array {
			section = ""
		}
		if rule.Verdict == chain.Refused {
			about := []any{"rule", rule.String()}
			if position, known := at[place(section, rule.Index)]; known {
				about = append(about, "at", position.String())
			}
			h.logger.Warn("rule refused; the others are in force", about...)
		}
		for _, warning := range rule.Warnings {
			h.logger.Warn("remark on a rule", "rule", rule.String(), "remark", warning)
		}
	}
}

// clusterErrors returns what is wrong with the cluster settings of a text that is in force.
func clusterErrors(status document.Status) []error {
	partial, ok := errors.AsType[*datasource.PartialError](status.LastError)
	if !ok {
		return nil
	}
	all, ok := partial.Err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var list []error
	for _, one := range all.Unwrap() {
		wrong, ok := errors.AsType[*document.Error](one)
		if ok && wrong.Section == "cluster" && !slices.Contains(status.Document.Errors, wrong) {
			list = append(list, wrong)
		}
	}
	return list
}

func place(section string, index int) string { return fmt.Sprintf("%s[%d]", section, index) }

// watchEvery is the time between two looks at the state of the rule files.
const watchEvery = 250 * time.Millisecond

// watch logs when rule files turn bad or good, until the context ends.
func watch(ctx context.Context, files []*ruleWatch) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, file := range files {
			file.look()
		}
	}
}

// ruleWatch logs when a rule file is not in force as it stands, once, and when it is again.
type ruleWatch struct {
	state  func() datasource.State
	logger *slog.Logger
	said   string // the last complaint; "": the file is in force
}

func (w *ruleWatch) look() {
	s := w.state()
	complaint := ""
	switch {
	case s.Deleted:
		complaint = "gone"
	case s.Stale && s.LastError != nil:
		complaint = s.LastError.Error()
	case s.Stale: // between two states
		return
	}
	if complaint == w.said {
		return
	}
	w.said = complaint
	switch {
	case complaint == "":
		w.logger.Info("rule file is good again and in force")
	case s.Deleted:
		w.logger.Warn("rule file is gone; what was in force stays")
	default:
		w.logger.Warn("rule file refused; what was in force stays", "error", complaint)
	}
}
