package replay

import (
	"fmt"
	"strings"

	"github.com/tidegate-go/tidegate"
)

// figure is one figure of a node and how to read it.
type figure struct {
	name string
	read func(*tidegate.Snapshot) float64
}

func figures() []figure {
	return []figure{
		{"passQps", func(s *tidegate.Snapshot) float64 { return s.PassQPS }},
		{"blockQps", func(s *tidegate.Snapshot) float64 { return s.BlockQPS }},
		{"successQps", func(s *tidegate.Snapshot) float64 { return s.SuccessQPS }},
		{"exceptionQps", func(s *tidegate.Snapshot) float64 { return s.ExceptionQPS }},
		{"totalQps", func(s *tidegate.Snapshot) float64 { return s.TotalQPS }},
		{"occupiedPassQps", func(s *tidegate.Snapshot) float64 { return s.OccupiedPassQPS }},
		{"avgRt", func(s *tidegate.Snapshot) float64 { return s.AvgRT }},
		{"minRt", func(s *tidegate.Snapshot) float64 { return s.MinRT }},
		{"maxSuccessQps", func(s *tidegate.Snapshot) float64 { return s.MaxSuccessQPS }},
		{"previousPassQps", func(s *tidegate.Snapshot) float64 { return s.PreviousPassQPS }},
		{"previousBlockQps", func(s *tidegate.Snapshot) float64 { return s.PreviousBlockQPS }},
		{"totalPass", func(s *tidegate.Snapshot) float64 { return float64(s.TotalPass) }},
		{"totalBlock", func(s *tidegate.Snapshot) float64 { return float64(s.TotalBlock) }},
		{"totalRequest", func(s *tidegate.Snapshot) float64 { return float64(s.TotalRequest) }},
		{"totalSuccess", func(s *tidegate.Snapshot) float64 { return float64(s.TotalSuccess) }},
		{"totalException", func(s *tidegate.Snapshot) float64 { return float64(s.TotalException) }},
		{"curThreadNum", func(s *tidegate.Snapshot) float64 { return float64(s.Active) }},
		{"waiting", func(s *tidegate.Snapshot) float64 { return float64(s.Waiting) }},
	}
}

func figureNames() []string {
	var names []string
	for _, f := range figures() {
		names = append(names, f.name)
	}
	return names
}

// splitNode splits a node's name such as "origin:app" into its kind and the rest.
func splitNode(node string) (kind, name string, err error) {
	kind, name, named := strings.Cut(node, ":")
	switch kind {
	case "cluster", "inbound":
		if !named {
			return kind, "", nil
		}
	case "default", "origin", "entrance":
		if named {
			return kind, name, nil
		}
	}
	return "", "", fmt.Errorf("unknown node %q", node)
}

func snapshotOf(e *tidegate.Engine, node, resource string) (s tidegate.Snapshot, found bool, err error) {
	kind, name, err := splitNode(node)
	if err != nil {
		return s, false, err
	}
	switch kind {
	case "default":
		s, found = e.ContextStats(resource, name)
	case "origin":
		s, found = e.OriginStats(resource, name)
	case "entrance":
		s, found = e.EntranceStats(name)
	case "inbound":
		s, found = e.InboundStats(), true
	default:
		s, found = e.ResourceStats(resource)
	}
	return s, found, nil
}

// statsOutcome returns the figures that were recorded, as they are.
func statsOutcome(e *tidegate.Engine, st *step) (outcome, error) {
	s, found, err := snapshotOf(e, st.node, st.call.resource)
	if err != nil || !found {
		return outcome{"exists": false}, err
	}
	out := outcome{}
	if _, recorded := st.recorded["exists"]; recorded {
		out["exists"] = true
	}
	for _, f := range figures() {
		if _, recorded := st.recorded[f.name]; recorded {
			out[f.name] = f.read(&s)
		}
	}
	return out, nil
}
