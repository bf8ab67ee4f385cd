package hostload

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how many nested cgroups are looked at.
const maxDepth = 32

// hierarchy holds the directories of the process's cgroup, own first, then its parents up to the
// mount point, for each controller. A list is empty where there is none.
type hierarchy struct {
	cpu, cpuacct []string // the same list in version 2
	v1           bool     // of cpu and cpuacct

	cpuset   []string
	cpusetV1 bool
	memory   []string
	memoryV1 bool
}

// locate finds the process's cgroups below root. Without /proc/self/cgroup or mountinfo it looks at
// the usual places.
func locate(root string) *hierarchy {
	paths := parseCgroups(readFile(filepath.Join(root, "proc/self/cgroup")))
	mounts := parseMounts(readFile(filepath.Join(root, "proc/self/mountinfo")))
	if len(mounts) == 0 {
		mounts = usualMounts(root)
	}
	find := func(controller string) ([]string, bool) {
		for _, name := range []string{controller, ""} { // "": version 2, which has one hierarchy for all
			if dirs := levels(root, paths, mounts, name); len(dirs) > 0 {
				return dirs, name != ""
			}
		}
		return nil, false
	}
	h := &hierarchy{}
	h.cpu, h.v1 = find("cpu")
	h.cpuacct = h.cpu
	if h.v1 {
		h.cpuacct = levels(root, paths, mounts, "cpuacct")
	}
	h.cpuset, h.cpusetV1 = find("cpuset")
	h.memory, h.memoryV1 = find("memory")
	return h
}

// levels returns the existing directories of one controller, own first.
func levels(root string, paths map[string]string, mounts []mount, controller string) []string {
	own, listed := paths[controller]
	if !listed && len(paths) > 0 {
		return nil
	}
	m, found := mountOf(mounts, controller, own)
	if !found {
		return nil
	}
	var dirs []string
	for rel := m.below(own); len(dirs) < maxDepth; rel = path.Dir(rel) {
		dir := filepath.Join(root, m.point, rel)
		if isDir(dir) {
			dirs = append(dirs, dir)
		}
		if rel == "/" {
			break
		}
	}
	return dirs
}

// parseCgroups reads /proc/self/cgroup, lines such as "4:cpu,cpuacct:/a/b" and, for version 2, "0::/a/b".
// It returns the path by controller, by "" for version 2.
func parseCgroups(text string) map[string]string {
	paths := make(map[string]string)
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	return paths
}

// mount is a mounted cgroup hierarchy.
type mount struct {
	root        string   // path inside the hierarchy that the mount shows
	point       string   // where it is mounted
	controllers []string // "" for version 2
}

// usualMounts returns what exists of the places where hierarchies are mounted by custom, for a system
// that does not tell.
func usualMounts(root string) []mount {
	usual := []mount{
		{controllers: []string{"cpu", "cpuacct"}, point: "/sys/fs/cgroup/cpu,cpuacct"},
		{controllers: []string{"cpu"}, point: "/sys/fs/cgroup/cpu"},
		{controllers: []string{"cpuacct"}, point: "/sys/fs/cgroup/cpuacct"},
		{controllers: []string{"cpuset"}, point: "/sys/fs/cgroup/cpuset"},
		{controllers: []string{"memory"}, point: "/sys/fs/cgroup/memory"},
		{controllers: []string{""}, point: "/sys/fs/cgroup"},
	}
	var mounts []mount
	for _, m := range usual {
		if isDir(filepath.Join(root, m.point)) {
			m.root = "/"
			mounts = append(mounts, m)
		}
	}
	return mounts
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// parseMounts reads the cgroup mounts of /proc/self/mountinfo, whose lines are
// "ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS".
func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 6 || len(kind) < 3 {
			continue
		}
		m := mount{root: unescape(fields[3]), point: unescape(fields[4])}
		switch kind[0] {
		case "cgroup2":
			m.controllers = []string{""}
		case "cgroup":
			m.controllers = strings.Split(kind[2], ",")
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// mountOf returns the mount of a controller that shows the cgroup own, of several the narrowest; if
// none does, the first of the controller, as in a container that sees only itself.
func mountOf(mounts []mount, controller, own string) (best mount, found bool) {
	bestShows := false
	for _, m := range mounts {
		if !slices.Contains(m.controllers, controller) {
			continue
		}
		shows := within(own, m.root)
		if !found || shows && (!bestShows || len(m.root) > len(best.root)) {
			best, found, bestShows = m, true, shows
		}
	}
	return best, found
}

// below returns the place of the cgroup own below the mount point, "/" if the mount does not show it.
func (m mount) below(own string) string {
	if !within(own, m.root) {
		return "/"
	}
	return path.Clean("/" + strings.TrimPrefix(own, m.root))
}

// within reports whether name is dir or below it. A name that leaves the namespace ("/../x") is below nothing.
func within(name, dir string) bool {
	if name == "" || path.Clean(name) != name {
		return false
	}
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// unescape replaces mountinfo's octal escapes, such as \040 for a space.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+4 <= len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
