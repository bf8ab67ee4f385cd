package main

import (
	"fmt"
	"io"

	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/document"
)

// checkPart prints the verdicts on a document of the cluster. The error says that it is unreadable.
func checkPart(w io.Writer, path string, part cluster.Part) (int, error) {
	content, err := readJSON(path)
	if err != nil {
		return exitUsage, err
	}
	report, warnings, err := part.Check(content)
	if err != nil {
		return exitUsage, fmt.Errorf("%s: %w", path, err)
	}
	for _, warning := range warnings {
		say(w, "warning: %s: %s", path, warning)
	}
	return printReport(w, report, part.String()), nil
}

// checkCluster prints what there is to say of a document's member cluster.
func checkCluster(w io.Writer, path string, d *document.Document) int {
	if d.Cluster == nil {
		return exitOK
	}
	_, warnings, err := cluster.ParseSettings(d.Cluster)
	for _, warning := range warnings {
		say(w, "warning: %s: cluster: %s", path, warning)
	}
	wrong := d.ClusterErrors(err)
	for _, err := range wrong {
		say(w, "error: %s: %v", path, err)
	}
	if len(wrong) > 0 {
		return exitFault
	}
	return exitOK
}
