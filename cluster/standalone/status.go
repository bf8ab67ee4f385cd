package standalone

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// Status is what GET /status tells.
type Status struct {
	Listening string           `json:"listening"` // "" while nothing is served
	Mode      string           `json:"mode"`      // exact, or compatible with Sentinel's server
	Security  string           `json:"security"`  // plaintext, secret, tls, mutual tls, and secret with them
	Uptime    float64          `json:"uptimeSeconds"`
	Server    server.Status    `json:"server"`
	Service   token.Status     `json:"service"`
	Files     []FileStatus     `json:"files"`
	RLS       *envoyrls.Status `json:"rls,omitempty"`
	Config    ConfigStatus     `json:"config"`
}

// FileStatus tells about one rule file.
type FileStatus struct {
	Namespace string    `json:"namespace"`
	Kind      string    `json:"kind"` // of the rules that an array in it holds: flow or param
	Path      string    `json:"path"`
	Revision  string    `json:"revision"` // SHA-256 of the content in force
	Updated   time.Time `json:"updated"`
	Stale     bool      `json:"stale"` // what is in force is not what the file holds
	Error     string    `json:"error,omitempty"`
	Rules     int       `json:"rules"`              // in force by this file
	Refused   []string  `json:"refused,omitempty"`  // rules, each with its reason
	Warnings  []string  `json:"warnings,omitempty"` // what is probably not meant
}

// ConfigStatus tells about the configurations since the start.
type ConfigStatus struct {
	Reloads       int64      `json:"reloads"`
	Refused       int64      `json:"refused"`
	LastError     string     `json:"lastError,omitempty"` // why the latest was refused; "" if it is in force
	LastErrorTime *time.Time `json:"lastErrorTime,omitempty"`
}

// Status tells what the server does.
func (s *Server) Status() Status {
	if s == nil {
		return Status{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.parts
	st := Status{
		Mode: "exact", Security: p.security.name(), Uptime: time.Since(s.began).Seconds(),
		Server: p.server.Status(), Service: p.service.Status(), Files: p.fileStatus(), Config: s.reloads.status(),
	}
	st.Service.Namespaces = p.namespaces(st.Service.Namespaces)
	if p.config.Compat {
		st.Mode = "compatible"
	}
	if p.server != nil {
		st.Listening = p.addr.String()
	}
	if p.limits != nil {
		rls := p.limits.Status()
		st.RLS = &rls
	}
	return st
}

// namespaces adds the configured namespaces that have neither rules nor clients.
func (p *parts) namespaces(known []token.NamespaceStatus) []token.NamespaceStatus {
	for _, b := range p.config.Namespaces {
		name, _ := split(b)
		if !slices.ContainsFunc(known, func(ns token.NamespaceStatus) bool { return ns.Namespace == name }) {
			known = append(known, token.NamespaceStatus{Namespace: name, Config: p.service.Config(name)})
		}
	}
	return known
}

func (r *reloads) status() ConfigStatus {
	st := ConfigStatus{Reloads: r.taken, Refused: r.refused, LastError: r.lastError}
	if !r.lastErrorTime.IsZero() {
		st.LastErrorTime = &r.lastErrorTime
	}
	return st
}

func (s *security) name() string {
	name := "plaintext"
	switch {
	case s.tls == nil:
	case s.tls.ClientCAs != nil:
		name = "mutual tls"
	default:
		name = "tls"
	}
	if s.secret != nil {
		name += " with secret"
	}
	return name
}

func (p *parts) fileStatus() []FileStatus {
	list := make([]FileStatus, 0, len(p.files))
	for key, r := range p.files {
		state, became := r.source.State(), r.became()
		st := FileStatus{
			Namespace: key.namespace, Kind: key.kind.String(), Path: key.path, Revision: state.Revision,
			Updated: state.LastUpdate, Stale: state.Stale, Rules: became.rules, Refused: became.refused, Warnings: became.warnings,
		}
		switch {
		case state.LastError != nil:
			st.Error = state.LastError.Error()
		case state.Deleted:
			st.Error = "the file is gone; its last rules stay in force"
		}
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b FileStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path))
	})
	return list
}

// became returns what became of the content in force.
func (r *ruleFile) became() loaded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded
}
