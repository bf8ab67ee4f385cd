package proxy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/document"
)

// joinGrace is how long a starting server waits for its token server, so that this decides the first requests already.
const joinGrace = time.Second

// newMember makes the engine's place in a cluster. It has no role yet.
func (c *Config) newMember(e *tidegate.Engine, logger *slog.Logger) (*cluster.Member, error) {
	options := []cluster.Option{cluster.WithLogger(logger)}
	if c.Cluster != nil {
		own, err := c.Cluster.options(c.source)
		if err != nil {
			return nil, err
		}
		options = append(options, own...)
	}
	return cluster.New(e, options...), nil
}

// join gives the member the role that the configuration says, where the rule files say none, and waits a moment for the
// role to be in force.
func (c *Config) join(m *cluster.Member) error {
	if c.Cluster != nil {
		if err := m.SetDefaults(c.Cluster.settings(m.Identity())); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	for deadline := time.Now().Add(joinGrace); !settled(m.Status()) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// settled says whether the role that is asked for is in force. A client without a token server to ask waits for none.
func settled(s cluster.Status) bool {
	if s.Mode == cluster.ModeNone || s.Mode == cluster.ModeClient && s.Assignment == "" {
		return true
	}
	return s.Phase == cluster.PhaseRunning && s.InForce == s.Mode
}

// clusterFiles takes the cluster settings of all rule files. Those of the last file that changes count.
type clusterFiles struct {
	member *cluster.Member

	mu   sync.Mutex
	with []string // files that have settings now, the one whose count last; guarded by mu
}

// clusterFile is one of the files.
type clusterFile struct {
	all  *clusterFiles
	name string
}

func (f *clusterFiles) file(name string) document.ClusterTarget { return &clusterFile{f, name} }

// ApplyDocument puts the file's settings into force.
func (f *clusterFile) ApplyDocument(member json.RawMessage) (warnings []string, err error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.leave()
	for _, other := range f.all.with {
		warnings = append(warnings, other+" has cluster settings too; those of the file that changes last count, so keep them in one")
	}
	f.all.with = append(f.all.with, f.name)
	more, err := f.all.member.ApplyDocument(member)
	return append(warnings, more...), err
}

// DocumentLost says that the file has no settings any more.
func (f *clusterFile) DocumentLost() {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.leave(); len(f.all.with) == 0 {
		f.all.member.DocumentLost()
	}
}

// leave forgets that the file has settings. The caller holds mu.
func (f *clusterFile) leave() {
	f.all.with = slices.DeleteFunc(f.all.with, func(name string) bool { return name == f.name })
}
