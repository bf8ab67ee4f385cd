package cluster

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// defaultNamespace is served by every token server that has rules for it.
const defaultNamespace = "default"

// Settings are what the document member "cluster" says. The zero value says nothing: the role stays as it is, and all
// else has its default.
type Settings struct {
	// Map decides mode, assignment and transport port where it is not nil; empty and not nil, the cluster is left.
	Map []Group
	// Mode is the role where there is no map; nil: the role stays.
	Mode *Mode
	// Assign is the server that a client asks where there is no map; nil: the assignment stays.
	Assign *Assign
	// Transport is where an embedded server listens; nil: where it did, port 18730 at first. The port is that of the map where
	// there is one.
	Transport *Transport
	// ClientConfig is how a client asks; nil: with a timeout of 20 ms.
	ClientConfig *ClientConfig
	// ServerFlow is how an embedded server decides; nil: by the defaults.
	ServerFlow *FlowConfig
	// NamespaceSet limits the namespaces of ServerRules that an embedded server serves, besides "default" and the
	// application's own; nil: all of them.
	NamespaceSet []string
	// ServerRules are the rules of an embedded server by namespace. A namespace that is not there has none, but the
	// application's own, which has the engine's rules in cluster mode.
	ServerRules map[string]Rules

	broken map[string]bool // members that could not be read: what was there before stays
}

// ParseSettings reads the document member "cluster". The error joins a *chain.MemberError for everything that is wrong,
// with the path of the member; the settings then remember which parts could not be read, and [Member.Apply] lets these
// stay as they are. Members that are not known are warnings.
func ParseSettings(content []byte) (s Settings, warnings []string, err error) {
	return parseWhole(content, parseSettings)
}

func parseSettings(path string, raw json.RawMessage) (Settings, []string, error) {
	o := rulejson.ParseAt(path, raw)
	if err := o.Err(); err != nil {
		return Settings{}, nil, err
	}
	s := Settings{broken: map[string]bool{}}
	r := &settingsReader{in: o, broken: s.broken}
	part(r, "map", parseMap, func(groups []Group) { s.Map = groups })
	part(r, "mode", parseMode, func(m Mode) { s.Mode = &m })
	part(r, "assign", parseAssign, func(a Assign) { s.Assign = &a })
	part(r, "clientConfig", parseClientConfig, func(c ClientConfig) { s.ClientConfig = &c })
	part(r, "namespaceSet", parseNamespaces, func(set []string) { s.NamespaceSet = set })
	part(r, "transport", parseTransport, func(t Transport) { s.Transport = &t })
	part(r, "serverFlow", parseFlowConfig, func(c FlowConfig) { s.ServerFlow = &c })
	r.serverRules(&s)
	return s, append(r.warnings, o.Warnings()...), errors.Join(r.errs...)
}

type settingsReader struct {
	in       *rulejson.Object
	broken   map[string]bool
	warnings []string
	errs     []error
}

// part reads one member apart from the others.
func part[T any](r *settingsReader, name string, parse parser[T], set func(T)) {
	raw, there := r.in.Raw(name)
	if !there {
		return
	}
	value, warnings, err := parse(name, raw)
	r.warnings = append(r.warnings, warnings...)
	if err != nil {
		r.broken[name] = true
		r.errs = append(r.errs, err)
		return
	}
	set(value)
}

// serverRules reads the one member of which the good parts count though others are wrong.
func (r *settingsReader) serverRules(s *Settings) {
	raw, there := r.in.Raw("serverRules")
	if !there {
		return
	}
	rules, warnings, err := parseServerRules("serverRules", raw)
	r.warnings = append(r.warnings, warnings...)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	r.broken["serverRules"] = rules == nil
	s.ServerRules = rules
}

func parseMode(path string, raw json.RawMessage) (m Mode, warnings []string, err error) {
	o := rulejson.ParseAt("", []byte(`{"mode":`+string(raw)+`}`))
	rulejson.Enum(o, "mode", &m, ModeNone, ModeClient, ModeServer)
	if wrong, ok := errors.AsType[*chain.MemberError](o.Err()); ok {
		return m, nil, chain.Refuse(path, "%s (-1: none, 0: client, 1: server)", wrong.Reason)
	}
	return m, nil, nil
}

// after returns the settings to follow upon others: parts that could not be read, or that stay while nobody speaks of
// them, are taken from these.
func (s Settings) after(before Settings, identity string) Settings {
	if s.broken["map"] || s.Map == nil && s.Mode == nil { // the role stays, whatever gave it
		s.Map, s.Mode = before.Map, before.Mode
	} else if s.Map == nil {
		before = before.settled(identity)
	}
	if s.Assign == nil {
		s.Assign = before.Assign
	}
	if s.Transport == nil {
		s.Transport = before.Transport
	}
	if s.broken["clientConfig"] {
		s.ClientConfig = before.ClientConfig
	}
	if s.broken["serverFlow"] {
		s.ServerFlow = before.ServerFlow
	}
	if s.broken["namespaceSet"] {
		s.NamespaceSet = before.NamespaceSet
	}
	s.ServerRules = rulesAfter(s.ServerRules, before.ServerRules, s.broken["serverRules"])
	s.broken = nil
	return s
}

// settled returns the settings with what the map says of this machine in the members that say so without a map.
func (s Settings) settled(identity string) Settings {
	switch place := PlaceOf(s.Map, identity); {
	case place.Group == nil:
	case place.Mode == ModeServer:
		s.Transport = &Transport{Port: place.Group.Port, IdleSeconds: s.transport().IdleSeconds}
	default:
		s.Assign = &Assign{ServerHost: place.Group.IP, ServerPort: place.Group.Port}
	}
	return s
}

// or returns the settings with the defaults for the parts of which they do not speak.
func (s Settings) or(defaults Settings) Settings {
	if s.Map == nil && s.Mode == nil {
		s.Map, s.Mode = defaults.Map, defaults.Mode
	}
	s.Assign, s.Transport = either(s.Assign, defaults.Assign), either(s.Transport, defaults.Transport)
	s.ClientConfig, s.ServerFlow = either(s.ClientConfig, defaults.ClientConfig), either(s.ServerFlow, defaults.ServerFlow)
	if s.NamespaceSet == nil {
		s.NamespaceSet = defaults.NamespaceSet
	}
	if s.ServerRules == nil {
		s.ServerRules = defaults.ServerRules
	}
	return s
}

func (s Settings) transport() Transport {
	if s.Transport == nil {
		return Transport{}
	}
	return *s.Transport
}

func rulesAfter(next, before map[string]Rules, broken bool) map[string]Rules {
	if broken {
		return before
	}
	next = maps.Clone(next)
	for namespace, rules := range next {
		if rules.brokenFlow {
			rules.Flow = before[namespace].Flow
		}
		if rules.brokenParam {
			rules.Param = before[namespace].Param
		}
		rules.brokenFlow, rules.brokenParam = false, false
		next[namespace] = rules
	}
	return next
}

// checked returns the settings with the parts that are wrong marked as broken, and what is wrong with them. It serves
// settings that were made in Go.
func (s Settings) checked() (Settings, error) {
	broken := maps.Clone(s.broken)
	if broken == nil {
		broken = map[string]bool{}
	}
	var errs []error
	wrong := func(name string, err error) bool {
		if err != nil {
			broken[name] = true
			errs = append(errs, err)
		}
		return err != nil
	}
	for i, g := range s.Map {
		wrong("map", under(at("map", i), g.Validate()))
	}
	if s.Mode != nil && wrong("mode", rulejson.CheckEnum("mode", *s.Mode, ModeNone, ModeClient, ModeServer)) {
		s.Mode = nil
	}
	if s.Assign != nil && wrong("assign", under("assign", s.Assign.Validate())) {
		s.Assign = nil
	}
	if s.Transport != nil && wrong("transport", under("transport", s.Transport.Validate())) {
		s.Transport = nil
	}
	if s.ClientConfig != nil {
		wrong("clientConfig", under("clientConfig", s.ClientConfig.Validate()))
	}
	if s.ServerFlow != nil {
		wrong("serverFlow", under("serverFlow", checkFlowConfig(*s.ServerFlow)))
	}
	for i, name := range s.NamespaceSet {
		wrong("namespaceSet", checkName(at("namespaceSet", i), name))
	}
	s.broken = broken
	return s, errors.Join(errs...)
}

// clone returns a copy that shares nothing that a caller might change.
func (s Settings) clone() Settings {
	if s.Map != nil {
		s.Map = append([]Group{}, s.Map...)
		for i := range s.Map {
			s.Map[i].ClientSet = slices.Clone(s.Map[i].ClientSet)
		}
	}
	s.Mode, s.Assign, s.Transport = rulejson.Copy(s.Mode), rulejson.Copy(s.Assign), rulejson.Copy(s.Transport)
	s.ClientConfig, s.ServerFlow = rulejson.Copy(s.ClientConfig), rulejson.Copy(s.ServerFlow)
	s.NamespaceSet = slices.Clone(s.NamespaceSet)
	s.ServerRules = maps.Clone(s.ServerRules)
	for namespace, rules := range s.ServerRules {
		rules.Flow, rules.Param = cloned(rules.Flow), cloned(rules.Param)
		s.ServerRules[namespace] = rules
	}
	return s
}

func cloned[R interface{ Clone() R }](rules []R) []R {
	list := make([]R, len(rules))
	for i, rule := range rules {
		list[i] = rule.Clone()
	}
	return list
}
