package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// clusterRecorder records what a loader tells the cluster.
type clusterRecorder struct {
	to  *document.Recorder
	err error
}

func (c *clusterRecorder) ApplyDocument(member json.RawMessage) ([]string, error) {
	c.to.Calls = append(c.to.Calls, "cluster "+string(member))
	return []string{"odd"}, c.err
}

func (c *clusterRecorder) DocumentLost() { c.to.Calls = append(c.to.Calls, "cluster lost") }

func TestClusterMember(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	cluster := &clusterRecorder{to: r}
	l := newLoader("a", document.WithCluster(cluster))
	update(t, l, `{"flowRules":[{"resource":"a"}]}`)
	calls(t, r, "load flow 1") // what never was cannot be lost
	const text = `{"cluster":{"mode":0},"flowRules":[{"resource":"a"},{"resource":"b"}]}`
	update(t, l, text)
	calls(t, r, "load flow 2", `cluster {"mode":0}`)
	if s := l.Status(); s.ClusterLost || !slices.Equal(s.Warnings, []string{"cluster: odd"}) || len(s.Document.Warnings) > 0 {
		t.Errorf("%+v", s)
	}
	update(t, l, text)
	calls(t, r)
	for _, lost := range []string{`{}`, `{"cluster":null}`} {
		update(t, l, lost)
		update(t, l, text)
		calls(t, r, "load flow 0", "cluster lost", "load flow 2", `cluster {"mode":0}`)
	}
	partly(t, l, `{"cluster":[]}`, "line 1, column 12: cluster: must be an object, not an array")
	calls(t, r, "load flow 0", "cluster lost")
	if !l.Status().ClusterLost {
		t.Error("the loss is not shown")
	}
	if err := l.Deleted(t.Context()); err != nil {
		t.Error(err)
	}
	calls(t, r, "cluster lost")
	if !l.Status().ClusterLost {
		t.Error("the loss is forgotten")
	}
}

// What is wrong with the settings is told with its place, and everything else is in force.
func TestClusterErrors(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	cluster := &clusterRecorder{to: r, err: errors.Join(chain.Refuse("assign.serverPort", "no"), errors.Join(chain.Refuse("map[1].port", "no"), fmt.Errorf("odd")))}
	l := newLoader("a", document.WithCluster(cluster))
	const text = `{"flowRules":[{"resource":"a"}],
"cluster":{"map":[{},
  {"port":0}],"assign":{"serverPort":5}}}`
	for _, want := range []string{
		"line 3, column 38: cluster: assign.serverPort: no", "line 3, column 11: cluster: map[1].port: no", "line 2, column 11: cluster: odd",
	} {
		partly(t, l, text, want)
	}
	if got := r.Take(); len(got) != 2 {
		t.Errorf("did %q", got)
	}
	if (*document.Document)(nil).ClusterErrors(cluster.err) != nil || (&document.Document{}).ClusterErrors(nil) != nil {
		t.Error("errors of nothing")
	}
	if got := (&document.Document{}).ClusterErrors(cluster.err); len(got) != 3 || got[0].Error() != "cluster: assign.serverPort: no" {
		t.Errorf("%v", got)
	}
}
