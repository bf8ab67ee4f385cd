package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := tidegate("version")
	if code != 0 || !strings.HasPrefix(stdout, "tidegate ") || !strings.Contains(stdout, " "+runtime.Version()) || strings.Count(stdout, "\n") != 1 || stderr != "" {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for want, info := range map[string]debug.BuildInfo{
		"tidegate (devel) go1.26.0":                       {GoVersion: "go1.26.0"},
		"tidegate v1.2.3 go1.26.0":                        {GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}},
		"tidegate (devel) go1.26.0 revision abc":          {GoVersion: "go1.26.0", Settings: revision[:2]},
		"tidegate (devel) go1.26.0 revision abc modified": {GoVersion: "go1.26.0", Settings: revision},
	} {
		if got := version(&info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
