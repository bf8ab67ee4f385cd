package cluster

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Group is one element of a cluster map: a token server and its clients. Machines are named by their identity, in
// Sentinel "IP@PORT" with the port of the command API.
type Group struct {
	MachineID   string   `json:"machineId"` // of the server
	IP          string   `json:"ip"`        // where clients reach it; a host name will do
	Port        int      `json:"port"`      // of its token server, 1 to 65535
	ClientSet   []string `json:"clientSet"` // identities of the clients
	BelongToApp bool     `json:"belongToApp,omitempty"`
}

// Addr returns the address that clients connect to.
func (g Group) Addr() string { return address(g.IP, g.Port) }

// address joins host and port; an IPv6 address may stand in brackets.
func address(host string, port int) string {
	host = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(host), "["), "]")
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (g Group) Validate() error {
	if err := rulejson.First(checkName("machineId", g.MachineID), checkHost("ip", g.IP), checkPort("port", g.Port)); err != nil {
		return err
	}
	for i, client := range g.ClientSet {
		if err := checkName(at("clientSet", i), client); err != nil {
			return err
		}
	}
	return nil
}

// ParseMap reads a cluster map, an array of groups; [] leaves the cluster. The error joins what is wrong with each
// group, as *chain.MemberError; a map counts as a whole, and one that is wrong anywhere is not used. The warnings name unknown
// members and machines that stand in several places.
func ParseMap(content []byte) (groups []Group, warnings []string, err error) {
	return parseWhole(content, parseMap)
}

func parseMap(path string, raw json.RawMessage) ([]Group, []string, error) {
	return parseList(path, raw, "; write [] to leave the cluster", parseGroup, mapRemarks)
}

func mapRemarks(path string, groups []Group) []string {
	list := conflicts(groups)
	for i, conflict := range list {
		list[i] = path + conflict
	}
	return list
}

func parseGroup(path string, raw json.RawMessage) (g Group, warnings []string, err error) {
	warnings, err = object(path, raw, func(o *rulejson.Object) {
		o.String("machineId", &g.MachineID)
		o.String("ip", &g.IP)
		o.Int("port", &g.Port)
		o.Strings("clientSet", &g.ClientSet)
		o.Bool("belongToApp", &g.BelongToApp)
	}, func() error { return g.Validate() })
	return g, warnings, err
}

// conflicts names the places of machines that have an earlier place already, which is the one that counts.
func conflicts(groups []Group) []string {
	var list []string
	servers, addrs, clients := map[string]int{}, map[string]int{}, map[string]int{}
	for i, g := range groups {
		if first, again := servers[g.MachineID]; again {
			list = append(list, fmt.Sprintf("[%d].machineId: %q is the server of group %d already, and serves that one", i, g.MachineID, first))
		} else {
			servers[g.MachineID] = i
		}
		if first, again := addrs[g.Addr()]; again {
			list = append(list, fmt.Sprintf("[%d].port: %s is the address of group %d already", i, g.Addr(), first))
		} else {
			addrs[g.Addr()] = i
		}
	}
	for i, g := range groups {
		for j, client := range g.ClientSet {
			place := fmt.Sprintf("[%d].clientSet[%d]: %q", i, j, client)
			if _, serves := servers[client]; serves {
				list = append(list, place+" is a server, and so no client")
			} else if first, again := clients[client]; again && first != i {
				list = append(list, fmt.Sprintf("%s is a client of group %d already, and asks that one", place, first))
			} else if !again {
				clients[client] = i
			}
		}
	}
	return list
}

// Place is what a cluster map says of one machine.
type Place struct {
	Mode  Mode
	Group *Group // that it serves or asks; nil with ModeNone. Not to be changed
}

// PlaceOf finds a machine in a cluster map by its identity. A machine that serves a group is a server, whatever else it
// is; of several groups the first one counts.
func PlaceOf(groups []Group, identity string) Place {
	for i := range groups {
		if groups[i].MachineID == identity {
			return Place{ModeServer, &groups[i]}
		}
	}
	for i := range groups {
		if slices.Contains(groups[i].ClientSet, identity) {
			return Place{ModeClient, &groups[i]}
		}
	}
	return Place{Mode: ModeNone}
}
