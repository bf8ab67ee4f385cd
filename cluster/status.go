package cluster

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// Status is the state of a Member, for tools. It may be written as JSON.
type Status struct {
	Identity  string `json:"identity"`
	Namespace string `json:"namespace"`
	// Mode is the role that the settings demand, Phase how far it has come, and Reason why no further.
	Mode   Mode      `json:"mode"`
	Phase  Phase     `json:"phase"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"` // of the phase
	// InForce is the role whose decisions count: that of before while Mode is starting or has failed to start.
	InForce      Mode      `json:"inForce"`
	LastModified time.Time `json:"lastModified,omitzero"` // when InForce last changed; zero: never

	Assignment string         `json:"assignment,omitempty"` // of a client: the token server to ask; "" none
	Listen     string         `json:"listen,omitempty"`     // of a server: where it listens; "" while it does not
	Client     *client.Status `json:"client,omitempty"`     // of the client in force, else of the one that is starting
	Server     *server.Status `json:"server,omitempty"`     // of the server in force
	Decisions  *token.Status  `json:"decisions,omitempty"`  // of the server in force
	Document   DocumentStatus `json:"document"`
	Warnings   []string       `json:"warnings,omitempty"` // what is in force but probably not meant
}

// DocumentStatus is the state of the settings' source.
type DocumentStatus struct {
	Present     bool      `json:"present"`              // the last document had settings
	LastApplied time.Time `json:"lastApplied,omitzero"` // when settings were last put into force; zero: never
	LostSince   time.Time `json:"lostSince,omitzero"`   // when they went; what they said stays in force. Zero: they are there, or never were
	Warnings    []string  `json:"warnings,omitempty"`   // about the settings
}

// state is what the loop shows.
type state struct {
	wanted       spec
	shown        *running // the role whose phase is shown; nil: none, or it could not be started
	inForce      *running
	err          error
	phase        Phase
	reason       string
	phaseSince   time.Time
	lastModified time.Time
	retiring     int // roles that are being ended
}

// show shows how far the wanted role has come: it runs, or could not be started because of err, or neither.
func (m *Member) show(wanted spec, r *running, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.wanted, m.state.shown, m.state.err = wanted, r, err
	m.settle()
}

// switched shows that another role is in force.
func (m *Member) switched(r *running) {
	mode := ModeNone
	if r != nil {
		mode = r.mode
	}
	m.config.logger.Info("The cluster role has changed.", slog.Any("mode", mode))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.inForce, m.state.lastModified = r, m.config.now()
}

// stopping counts the roles that are being ended.
func (m *Member) stopping(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.retiring += n
	m.settle()
}

// settle brings the phase up to date. The caller holds mu.
func (m *Member) settle() {
	phase, reason := m.state.now()
	if phase != m.state.phase {
		m.state.phaseSince = m.config.now()
	}
	m.state.phase, m.state.reason = phase, reason
}

// now returns the phase and the reason for it.
func (s *state) now() (Phase, string) {
	switch {
	case s.wanted.mode == ModeNone && s.retiring > 0:
		return PhaseStopping, ""
	case s.wanted.mode == ModeNone:
		return PhaseIdle, ""
	case s.err != nil:
		return PhaseFailed, s.err.Error()
	case s.shown == nil:
		return PhaseStarting, ""
	}
	phase, reason := s.shown.phase()
	if phase == PhaseRunning && s.shown != s.inForce {
		return PhaseStarting, ""
	}
	return phase, reason
}

// Status tells what is going on.
func (m *Member) Status() Status {
	if !m.made() {
		return Status{Mode: ModeNone, InForce: ModeNone}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle()
	w, s := m.demanded(), &m.state
	status := Status{
		Identity: m.config.identity, Namespace: m.namespace(), Mode: w.mode, Phase: s.phase, Reason: s.reason, Since: s.phaseSince,
		InForce: ModeNone, LastModified: s.lastModified, Assignment: w.assign, Document: m.document,
	}
	status.Document.Warnings = slices.Clone(m.document.Warnings)
	if w.spec != s.wanted { // the loop has yet to see it
		status.Phase, status.Reason = PhaseStarting, ""
		if w.mode == ModeNone {
			status.Phase = PhaseStopping
		}
	}
	if s.inForce != nil {
		status.InForce = s.inForce.mode
	}
	s.inForce.describe(&status)
	s.shown.describe(&status)
	if w.mode == ModeServer && m.config.host == nil && m.config.open() {
		status.Warnings = append(status.Warnings,
			"the token server serves this host only, for it has neither TLS nor a secret; WithListenHost opens it to others all the same")
	}
	return status
}

// describe fills in what a role knows.
func (r *running) describe(to *Status) {
	if r == nil {
		return
	}
	switch own := r.role.(type) {
	case *clientRole:
		if s := own.Status(); to.Client == nil {
			to.Client = &s
		}
	case *serverRole:
		if to.Server != nil {
			return
		}
		s, decisions := own.server.Status(), own.embedded.service.Status()
		to.Server, to.Decisions, to.Listen = &s, &decisions, own.addr.String()
		to.Warnings = append(to.Warnings, own.ruleProblems()...)
	}
}
