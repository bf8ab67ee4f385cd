package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/yaml"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// maxRules bounds the size of a rule file, in bytes.
const maxRules = 16 << 20

// ruleFile is a namespace's rules of one kind in a file that is followed.
type ruleFile struct {
	namespace string
	kind      chain.Kind // of an array in the file: KindFlow or KindParam
	path      string
	source    *datasource.File
	service   *token.Service
	logger    *slog.Logger

	mu      sync.Mutex
	refused []string        // rules of the content in force, why each; guarded by mu
	flows   *[]flow.Rule    // in force by this file; nil: it never had any; guarded by mu
	params  *[]hotspot.Rule // likewise; guarded by mu
}

// openRules puts a file into force and follows it.
func openRules(ctx context.Context, s *token.Service, namespace string, kind chain.Kind, path string, logger *slog.Logger) (*ruleFile, error) {
	r := &ruleFile{
		namespace: namespace, kind: kind, path: path, service: s,
		logger: logger.With("namespace", namespace, "file", path),
		source: datasource.NewFile(path, datasource.WithMaxSize(maxRules),
			datasource.WithPolicy(datasource.Policy{Start: datasource.Require})),
	}
	if err := r.source.Start(ctx, datasource.HandlerFuncs{OnUpdate: r.update}); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *ruleFile) close() { _ = r.source.Close() } // it always returns nil

// update puts content into force. An unreadable one, or one without any rule that could be, changes nothing.
func (r *ruleFile) update(_ context.Context, content []byte) error {
	d, err := r.parse(content)
	if err != nil {
		r.logger.Error("rule file refused; the rules before stay in force", "error", err)
		return err
	}
	flows, params := rulesOf(d.Flow.Items), rulesOf(d.Param.Items)
	refused := refusals(d)
	if total := len(d.Flow.Items) + len(d.Param.Items); total > 0 && len(flows)+len(params) == 0 {
		err := fmt.Errorf("no rule could be put into force: %s", strings.Join(refused, "; "))
		r.logger.Error("rule file refused; the rules before stay in force", "error", err)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.Flow.Given || r.flows != nil || d.Array && r.kind == chain.KindFlow {
		r.flows = &flows
	}
	if d.Param.Given || r.params != nil || d.Array && r.kind == chain.KindParam {
		r.params = &params
	}
	r.refused = append(refused, r.load()...)
	if len(r.refused) > 0 {
		err := errors.New(strings.Join(r.refused, "; "))
		r.logger.Warn("rules refused; the others are in force", "error", err)
		return &datasource.PartialError{Err: err}
	}
	return nil
}

// again puts the rules into force that the file last had, after another file has taken their place.
func (r *ruleFile) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
}

// load puts the rules into force and returns what the service refused. The caller holds mu.
func (r *ruleFile) load() (refused []string) {
	var reports []chain.Report
	if r.flows != nil {
		reports = append(reports, r.service.LoadFlow(r.namespace, *r.flows))
	}
	if r.params != nil {
		reports = append(reports, r.service.LoadParam(r.namespace, *r.params))
	}
	for _, report := range reports {
		for _, rule := range report.Rules {
			if rule.Verdict == chain.Refused {
				refused = append(refused, rule.String())
			}
		}
	}
	return refused
}

// parse reads an array of the file's kind, or the single document.
func (r *ruleFile) parse(content []byte) (*document.Document, error) {
	var format document.Format = document.JSON{}
	switch strings.ToLower(filepath.Ext(r.path)) {
	case ".yaml", ".yml":
		format = yaml.Format{}
	}
	d, err := format.ParseArray(r.kind, content)
	if err == nil {
		return d, nil
	}
	if d, second := format.Parse(content); second == nil && !d.Array {
		return d, nil
	}
	return nil, fmt.Errorf("%s: %w", r.path, err)
}

// rulesOf returns the rules that could be read.
func rulesOf[R flow.Rule | hotspot.Rule](items []document.Item[R]) []R {
	rules := make([]R, 0, len(items))
	for _, item := range items {
		if item.Err == nil {
			rules = append(rules, item.Rule)
		}
	}
	return rules
}

func refusals(d *document.Document) []string {
	var list []string
	for _, err := range d.Errors {
		list = append(list, err.Error())
	}
	return list
}
