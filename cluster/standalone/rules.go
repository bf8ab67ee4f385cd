package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/yaml"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
)

// maxRules bounds the size of a rule file, in bytes.
const maxRules = 16 << 20

// readTime is how long a rule file may take to be read at first: one of a hundred thousand rules takes some seconds.
const readTime = time.Minute

// ruleFile is a namespace's rules of one kind in a file that is followed.
type ruleFile struct {
	namespace string
	kind      chain.Kind // of an array in the file: KindFlow or KindParam
	path      string
	source    *datasource.File
	service   *token.Service
	logger    *slog.Logger
	told      string // why content was refused last; of update alone

	mu     sync.Mutex
	opened bool            // what the file says is in force; guarded by mu
	loaded loaded          // what became of the content in force; guarded by mu
	flows  *[]flow.Rule    // in force by this file; nil: it never had any; guarded by mu
	params *[]hotspot.Rule // likewise; guarded by mu
}

// openRules reads a file and follows it. Its rules are in force from enforce on.
func openRules(ctx context.Context, s *token.Service, namespace string, kind chain.Kind, path string, logger *slog.Logger) (*ruleFile, error) {
	r := &ruleFile{
		namespace: namespace, kind: kind, path: path, service: s,
		logger: logger.With("namespace", namespace, "file", path),
		source: datasource.NewFile(path, datasource.WithMaxSize(maxRules),
			datasource.WithPolicy(datasource.Policy{Start: datasource.Require, StartTimeout: readTime})),
	}
	if err := r.source.Start(ctx, datasource.HandlerFuncs{OnUpdate: r.update}); err != nil {
		return nil, err
	}
	return r, nil
}

// enforce puts into force what the file says, and what it will say.
func (r *ruleFile) enforce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = true
	_ = r.load() // that some are refused is in the status, and logged
}

func (r *ruleFile) close() { _ = r.source.Close() } // it always returns nil

// update puts content into force. An unreadable one, or one without any rule that could be, changes nothing.
func (r *ruleFile) update(_ context.Context, content []byte) error {
	d, err := r.parse(content)
	if err != nil {
		return r.refuse(err)
	}
	flows, params, routes := rulesOf(d.Flow.Items), rulesOf(d.Param.Items), rulesOf(d.Gateway.Items)
	ownFlows, ownParams := len(flows), len(params)
	for _, rule := range routes {
		if r, ok := rule.FlowRule(); ok {
			flows = append(flows, r)
		}
		if r, ok := rule.ParamRule(); ok {
			params = append(params, r)
		}
	}
	refused := refusals(d)
	total, valid := len(d.Flow.Items)+len(d.Param.Items)+len(d.Gateway.Items), ownFlows+ownParams+len(routes)
	if total > 0 && valid == 0 {
		return r.refuse(fmt.Errorf("no rule could be put into force: %s", strings.Join(refused, "; ")))
	}
	r.told = ""
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.Flow.Given || len(flows) > ownFlows || r.flows != nil || d.Array && r.kind == chain.KindFlow {
		r.flows = &flows
	}
	if d.Param.Given || len(params) > ownParams || r.params != nil || d.Array && r.kind == chain.KindParam {
		r.params = &params
	}
	r.loaded = loaded{refused: refused, warnings: warnings(d), noted: valid}
	if !r.opened {
		return partial(refused)
	}
	return r.load()
}

// refuse logs once why content is not put into force, unless the caller of openRules is told.
func (r *ruleFile) refuse(err error) error {
	if told := r.told; r.inForce() && err.Error() != told {
		r.told = err.Error()
		r.logger.Error("rule file refused; the rules before stay in force", "error", err)
	}
	return err
}

func (r *ruleFile) inForce() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened
}

// tell logs what is odd about the rules, and returns the error that some are refused. The caller holds mu.
func (r *ruleFile) tell() error {
	if list := r.loaded.warnings; len(list) > 0 {
		r.logger.Warn("the rule file says what was probably not meant", "warnings", strings.Join(list, "; "))
	}
	err := partial(r.loaded.refused)
	if err != nil {
		r.logger.Warn("rules refused; the others are in force", "error", err)
	}
	return err
}

func partial(refused []string) error {
	if len(refused) == 0 {
		return nil
	}
	return &datasource.PartialError{Err: errors.New(strings.Join(refused, "; "))}
}

// again puts the rules into force once more, where another file had replaced them.
func (r *ruleFile) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put()
}

// gives says whether the file has put rules of the kind into force, if only none.
func (r *ruleFile) gives(kind chain.Kind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return kind == chain.KindFlow && r.flows != nil || kind == chain.KindParam && r.params != nil
}

// kinds returns the kinds of rules that the file has put into force.
func (r *ruleFile) kinds() (list []chain.Kind) {
	for _, kind := range []chain.Kind{chain.KindFlow, chain.KindParam} {
		if r.gives(kind) {
			list = append(list, kind)
		}
	}
	return list
}

// drop takes away the namespace's rules of a kind.
func (r *ruleFile) drop(kind chain.Kind) {
	if kind == chain.KindFlow {
		r.service.LoadFlow(r.namespace, nil)
	} else {
		r.service.LoadParam(r.namespace, nil)
	}
}

// noneInCluster warns of a file whose rules are all for the clients alone.
const noneInCluster = "no rule is in force: a token server decides by rules with clusterMode true"

// loaded is what became of the rules of a file.
type loaded struct {
	rules    int      // how many are in force
	refused  []string // each with its reason
	warnings []string
	noted    int // rules that could be read
}

// load puts the rules into force and tells what the service says of them. The caller holds mu.
func (r *ruleFile) load() error {
	l := &r.loaded
	for _, report := range r.put() {
		for _, rule := range report.Rules {
			l.add(rule)
		}
	}
	if l.noted > 0 && l.rules == 0 && len(l.refused) == 0 {
		l.warnings = append(l.warnings, noneInCluster)
	}
	return r.tell()
}

// put puts the rules into force. The caller holds mu.
func (r *ruleFile) put() (reports []chain.Report) {
	if r.flows != nil {
		reports = append(reports, r.service.LoadFlow(r.namespace, *r.flows))
	}
	if r.params != nil {
		reports = append(reports, r.service.LoadParam(r.namespace, *r.params))
	}
	return reports
}

func (l *loaded) add(rule chain.RuleReport) {
	switch rule.Verdict {
	case chain.Refused:
		l.refused = append(l.refused, rule.String())
	case chain.Loaded, chain.Observed:
		l.rules++
	case chain.Duplicate:
		l.warnings = append(l.warnings, rule.String()+": "+rule.Reason)
	case chain.Disabled: // by itself, or a rule of the clients alone
	}
	for _, text := range rule.Warnings {
		l.warnings = append(l.warnings, rule.String()+": "+text)
	}
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
func rulesOf[R flow.Rule | hotspot.Rule | gateway.Rule](items []document.Item[R]) []R {
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

// warnings returns what the text has that is probably not meant, such as misspelt members.
func warnings(d *document.Document) []string {
	list := slices.Clone(d.Warnings)
	list = append(list, warningsOf(chain.KindFlow, d.Flow.Items)...)
	list = append(list, warningsOf(chain.KindParam, d.Param.Items)...)
	return append(list, warningsOf(chain.KindGateway, d.Gateway.Items)...)
}

func warningsOf[R interface{ Head() chain.Head }](kind chain.Kind, items []document.Item[R]) (list []string) {
	for i, item := range items {
		for _, text := range item.Warnings {
			rule := chain.RuleReport{Kind: kind, Index: i, Resource: item.Rule.Head().Resource}
			list = append(list, strings.TrimSuffix(rule.String(), rule.Verdict.String())+text)
		}
	}
	return list
}
