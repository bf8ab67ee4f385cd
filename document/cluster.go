package document

import (
	"encoding/json"
	"errors"

	"github.com/tidegate-go/tidegate/chain"
)

// ClusterTarget is who takes the cluster member of documents, such as a member of package cluster.
type ClusterTarget interface {
	// ApplyDocument puts the settings into force in place of those before. What is wrong, the error, stays as it was: a
	// *chain.MemberError with the path of the member within the settings, or several of them joined. The warnings are
	// about what is legal but probably not meant. It must not wait for a role to change.
	ApplyDocument(member json.RawMessage) (warnings []string, err error)
	// DocumentLost says that there is no cluster member any more: the document is deleted, or the member is absent or of
	// a wrong type. The role, the assignment and all else stay.
	DocumentLost()
}

// WithCluster hands the member "cluster" of single documents to a target, after the rules of the document are in force. Without it the member is
// only kept in Document.Cluster. The cluster member of arrays is absent.
func WithCluster(target ClusterTarget) Option { return func(l *Loader) { l.cluster = target } }

// applyCluster hands the cluster settings of a document, or their loss, to who takes them. The caller holds mu.
func (l *Loader) applyCluster(d *Document) (problems []error) {
	had := l.status.ClusterLost || l.status.Document != nil && l.status.Document.Cluster != nil
	l.status.ClusterLost = had && d.Cluster == nil
	switch {
	case l.cluster == nil:
	case d.Cluster != nil:
		warnings, err := l.cluster.ApplyDocument(d.Cluster)
		for _, warning := range warnings {
			l.status.Warnings = append(l.status.Warnings, "cluster: "+warning)
		}
		for _, wrong := range d.ClusterErrors(err) {
			problems = append(problems, wrong)
		}
	case had:
		l.cluster.DocumentLost()
	}
	return problems
}

// ClusterErrors returns what is wrong with the cluster settings, which package cluster judges, with the places in the text:
// an error for each one that is joined in err, nil for nil.
func (d *Document) ClusterErrors(err error) []*Error {
	if err == nil || d == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []*Error
		for _, one := range joined.Unwrap() {
			list = append(list, d.ClusterErrors(one)...)
		}
		return list
	}
	wrong := &Error{Section: "cluster", Index: -1, Reason: err.Error()}
	if at, ok := errors.AsType[*chain.MemberError](err); ok {
		wrong.Member, wrong.Reason = at.Member, at.Reason
	}
	if d.locate != nil {
		wrong.At = d.locate(d.cluster.find(wrong.Member))
	}
	return []*Error{wrong}
}
