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
	Refused   []string  `json:"refused,omitempty"` // rules, each with its reason
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
	if p.config.Compat {
		st.Mode = "compatible"
	}
	if p.addr != nil {
		st.Listening = p.addr.String()
	}
	if p.rls != nil {
		rls := p.rls.service.Status()
		st.RLS = &rls
	}
	return st
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
		state := r.source.State()
		st := FileStatus{
			Namespace: key.namespace, Kind: key.kind.String(), Path: key.path, Revision: state.Revision,
			Updated: state.LastUpdate, Stale: state.Stale, Refused: r.refusals(),
		}
		if state.LastError != nil {
			st.Error = state.LastError.Error()
		}
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b FileStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path))
	})
	return list
}

// refusals returns the rules of the content in force that were refused.
func (r *ruleFile) refusals() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}
