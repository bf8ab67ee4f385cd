package hostload_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/internal/hostload"
)

// tree is a private copy of a fixture, with a reader and a clock.
type tree struct {
	t      *testing.T
	root   string
	reader *hostload.Reader
	now    time.Time
}

func newTree(t *testing.T, name string) *tree {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return &tree{t: t, root: root, reader: hostload.New(root), now: time.Unix(1_700_000_000, 0)}
}

func (tr *tree) write(name, text string) {
	tr.t.Helper()
	name = filepath.Join(tr.root, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) after(d time.Duration) hostload.Readings {
	tr.now = tr.now.Add(d)
	return tr.reader.Sample(tr.now)
}

func (tr *tree) wantCPU(r hostload.Readings, want float64) {
	tr.t.Helper()
	if !r.CPUOK || math.Abs(r.CPU-want) > 1e-9 {
		tr.t.Errorf("CPU = %v, %v; want %v", r.CPU, r.CPUOK, want)
	}
}

// Field case B83 and more: the usage file grows in one second, the CPU figure follows from the quota.
func TestB83UsageUnderQuota(t *testing.T) {
	t.Parallel()
	const pod = "sys/fs/cgroup/kubepods.slice/pod1.slice/"
	cases := map[string]struct {
		tree, file, text string
		cpu, cores       float64
	}{
		"v2 quota used up":           {"v2", "sys/fs/cgroup/cpu.stat", "usage_usec 5250000\n", 1, 0.25},
		"v2 quota over by a burst":   {"v2", "sys/fs/cgroup/cpu.stat", "usage_usec 5300000\n", 1, 0.25},
		"v2 quota partly used":       {"v2", "sys/fs/cgroup/cpu.stat", "usage_usec 5100000\n", 0.4, 0.25},
		"v1 quota used up":           {"v1", "sys/fs/cgroup/cpu,cpuacct/app/cpuacct.usage", "8250000000\n", 1, 1.25},
		"v2 without quota, 8 cores":  {"v2max", "sys/fs/cgroup/app/cpu.stat", "usage_usec 9000000\n", 0.5, 8},
		"nested, own quota":          {"v2nested", pod + "c1.scope/cpu.stat", "usage_usec 10750000\n", 0.5, 1.5},
		"nested, the pod's quota":    {"v2nested", pod + "cpu.stat", "usage_usec 21800000\n", 0.9, 1.5},
		"nested, no quota on top":    {"v2nested", "sys/fs/cgroup/cpu.stat", "usage_usec 908000000\n", 0, 1.5},
		"v1 container, two-core set": {"v1docker", "sys/fs/cg roup/cpuacct/cpuacct.usage", "1500000000\n", 0.25, 2},
		"v1 before v2 when both":     {"hybrid", "sys/fs/cgroup/cpu,cpuacct/app/cpuacct.usage", "3250000000\n", 0.5, 0.5},
		"no cgroup: the machine":     {"host", "proc/stat", "cpu  1250 0 1000 8750 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n", 0.25, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c.tree)
			if first := tr.after(0); first.CPUOK {
				t.Errorf("CPU = %v at the first sample, want none", first.CPU)
			}
			tr.write(c.file, c.text)
			r := tr.after(time.Second)
			tr.wantCPU(r, c.cpu)
			if r.Cores != c.cores {
				t.Errorf("Cores = %v, want %v", r.Cores, c.cores)
			}
		})
	}
}

func TestLoadAndMemory(t *testing.T) {
	t.Parallel()
	totals := map[string]uint64{
		"v2": 256 << 20, "v2max": 16384000 << 10, "v2nested": 1 << 30, "v1": 512 << 20, "host": 16384000 << 10,
	}
	for name, total := range totals {
		tr := newTree(t, name)
		r := tr.after(0)
		if r.Load != 1.25 || !r.LoadOK || r.RSS != 20<<20 || !r.RSSOK {
			t.Errorf("%s: %+v, want load 1.25 and 20 MiB", name, r)
		}
		if got, ok := tr.reader.MemoryTotal(); got != total || !ok {
			t.Errorf("%s: MemoryTotal = %d, %v, want %d", name, got, ok, total)
		}
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"missing", "garbage"} {
		tr := newTree(t, name)
		for range 3 {
			r := tr.after(time.Second)
			if r.LoadOK || r.CPUOK || r.RSSOK || r.Load != 0 || r.CPU != 0 || r.RSS != 0 {
				t.Errorf("%s: %+v, want nothing available", name, r)
			}
			if r.Cores < 1 {
				t.Errorf("%s: Cores = %v, want the runtime's", name, r.Cores)
			}
		}
		if n, ok := tr.reader.MemoryTotal(); ok {
			t.Errorf("%s: MemoryTotal = %d, want none", name, n)
		}
	}
}

// Without mountinfo or /proc/self/cgroup the usual places serve.
func TestUsualPlaces(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"proc/self/mountinfo", "proc/self/cgroup"} {
		for name, file := range map[string]string{"v2": "sys/fs/cgroup/cpu.stat", "v1": "sys/fs/cgroup/cpu,cpuacct/app/cpuacct.usage"} {
			if name == "v1" && missing == "proc/self/cgroup" {
				file = "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"
			}
			tr := newTree(t, name)
			if err := os.Remove(filepath.Join(tr.root, missing)); err != nil {
				t.Fatal(err)
			}
			tr.after(0)
			tr.write(file, map[string]string{"v2": "usage_usec 5250000", "v1": "100000000000000"}[name])
			tr.wantCPU(tr.after(time.Second), 1)
		}
	}
}

// A cgroup whose path is not below the mount, or does not exist, is the one that is mounted.
func TestPathOutsideMount(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/../other", "/gone/deep", "/../../.."} {
		tr := newTree(t, "v2")
		tr.write("proc/self/cgroup", "0::"+path+"\n")
		tr.after(0)
		tr.write("sys/fs/cgroup/cpu.stat", "usage_usec 5125000\n")
		tr.wantCPU(tr.after(time.Second), 0.5)
	}
}

// Pairs of samples that say nothing leave the figure alone.
func TestUselessSamples(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "v2")
	usage := func(usec int) { tr.write("sys/fs/cgroup/cpu.stat", fmt.Sprintf("usage_usec %d\n", usec)) }
	tr.after(0)
	usage(5_200_000)
	tr.wantCPU(tr.after(time.Second), 0.8)

	usage(5_230_000)
	tr.wantCPU(tr.after(0), 0.8)                   // no time has passed
	tr.wantCPU(tr.after(99*time.Millisecond), 0.8) // too little
	usage(1000)
	tr.wantCPU(tr.after(time.Second), 0.8) // the counter was reset
	usage(201_000)
	tr.wantCPU(tr.after(-time.Hour), 0.8) // time went back
	usage(401_000)
	tr.wantCPU(tr.after(time.Second), 0.8) // comparable again, and the usage is the same
}

// A short sample's usage is not lost: the next one covers it.
func TestShortSampleIsCarriedOver(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "v2")
	tr.after(0)
	tr.write("sys/fs/cgroup/cpu.stat", "usage_usec 5100000\n")
	if r := tr.after(50 * time.Millisecond); r.CPUOK {
		t.Errorf("CPU = %v after 50 ms, want none", r.CPU)
	}
	tr.wantCPU(tr.after(950*time.Millisecond), 0.4)
}

func TestSmoothing(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "v2")
	tr.after(0)
	tr.wantCPU(tr.after(time.Second), 0)
	tr.write("sys/fs/cgroup/cpu.stat", "usage_usec 5250000\n")
	tr.wantCPU(tr.after(time.Second), 0.5) // half of a step after one half-life
	tr.wantCPU(tr.after(time.Second), 0.25)
	tr.wantCPU(tr.after(2*time.Second), 0.0625) // two half-lives at once
}

// A quota that changes while it runs counts from then on.
func TestQuotaChange(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "v2")
	tr.after(0)
	tr.write("sys/fs/cgroup/cpu.max", "100000 100000\n")
	tr.write("sys/fs/cgroup/cpu.stat", "usage_usec 5250000\n")
	r := tr.after(time.Second)
	tr.wantCPU(r, 0.25)
	if r.Cores != 1 {
		t.Errorf("Cores = %v, want 1", r.Cores)
	}
}

// With a quota the neighbours' usage of the machine is no reason to refuse calls; without, it is.
func TestBusyMachine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]float64{"v2": 0, "v2max": 0.75} {
		tr := newTree(t, name)
		tr.after(0)
		stat, err := os.ReadFile(filepath.Join(tr.root, "proc/stat"))
		if err != nil {
			t.Fatal(err)
		}
		_, cores, _ := strings.Cut(string(stat), "\n")
		tr.write("proc/stat", "cpu  1550 0 1000 8200 0 0 0 50 0 0\n"+cores) // 600 of 800 ticks busy, 50 of them stolen
		tr.wantCPU(tr.after(time.Second), want)
	}
}

// Files that vanish make the figure unavailable; files that come back make it start afresh.
func TestVanishing(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "v2")
	tr.after(0)
	tr.wantCPU(tr.after(time.Second), 0)
	for _, name := range []string{"proc", "sys"} {
		if err := os.RemoveAll(filepath.Join(tr.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if r := tr.after(time.Second); r.CPUOK || r.LoadOK {
		t.Errorf("%+v, want nothing available", r)
	}
	if err := os.CopyFS(tr.root, os.DirFS("testdata/v2")); err != nil {
		t.Fatal(err)
	}
	if r := tr.after(time.Second); r.CPUOK {
		t.Errorf("CPU = %v at the first sample after a gap, want none", r.CPU)
	}
	tr.write("sys/fs/cgroup/cpu.stat", "usage_usec 5250000\n")
	tr.wantCPU(tr.after(time.Second), 1)
}

func TestSimultaneousSamples(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "v2")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 20 {
				r := tr.reader.Sample(tr.now.Add(time.Duration(i*k) * 100 * time.Millisecond))
				if r.CPU < 0 || r.CPU > 1 || r.Cores != 0.25 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	wg.Wait()
}

// On the machine that runs the test nothing may fail, whatever it is.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	r := hostload.New("").Sample(time.Now())
	if r.Cores <= 0 || r.Load < 0 || r.CPUOK {
		t.Errorf("%+v", r)
	}
}

// FuzzFiles writes any text into every file that is read.
func FuzzFiles(f *testing.F) {
	for _, text := range []string{"", "cpu 1 2 3 4", "max", "1 0", "0::/a", "1:cpu:/..", "1 1 1 / / r - cgroup c cpu", "0-4294967295", "VmRSS: 1 kB", `\04`} {
		f.Add(text, uint8(0))
	}
	files := []string{
		"proc/stat", "proc/loadavg", "proc/self/status", "proc/meminfo", "proc/self/cgroup", "proc/self/mountinfo",
		"sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/cpuset.cpus.effective",
	}
	f.Fuzz(func(t *testing.T, text string, file uint8) {
		tr := newTree(t, "v2")
		tr.after(0)
		tr.write(files[int(file)%len(files)], text)
		for range 2 {
			r := tr.after(time.Second)
			if !(r.CPU >= 0 && r.CPU <= 1 && r.Load >= 0 && r.Cores > 0) || math.IsInf(r.Load, 0) {
				t.Errorf("%+v", r)
			}
		}
		tr.reader.MemoryTotal()
	})
}
