package cluster

import (
	"encoding/json"
	"fmt"
)

// Mode is a role in the cluster, with Sentinel's number in JSON. The zero value is ModeClient.
type Mode int8

// The roles.
const (
	ModeNone   Mode = -1 // no part of a cluster: rules in cluster mode follow their fallback
	ModeClient Mode = 0  // asks a token server elsewhere
	ModeServer Mode = 1  // is a token server, for itself and for others
)

// String returns "none", "client" or "server".
func (m Mode) String() string {
	switch m {
	case ModeNone:
		return "none"
	case ModeClient:
		return "client"
	case ModeServer:
		return "server"
	}
	return fmt.Sprintf("mode(%d)", int8(m))
}

// Number returns the value in JSON.
func (m Mode) Number() int { return int(m) }

// Phase says how far a role has come.
type Phase uint8

// The phases of a role.
const (
	PhaseIdle     Phase = iota // there is no role
	PhaseStarting              // it is being started; the role before, if any, is still in force
	PhaseRunning
	PhaseFailed   // it does not work, for the reason shown; it is tried again
	PhaseStopping // the cluster is being left
)

var phaseNames = [...]string{"idle", "starting", "running", "failed", "stopping"}

// String returns the phase in lower case.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// MarshalJSON writes the phase's name.
func (p Phase) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }
