//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// patience is how long a test waits for what should come soon.
const patience = 20 * time.Second

// role makes the test binary something else: the command, or an attacker.
const (
	role       = "TIDEGATE_TEST_ROLE"
	asCommand  = "command"
	asAttacker = "attacker"
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case asCommand:
		main()
	case asAttacker:
		attackMain(os.Args[1])
	default:
		m.Run()
	}
}

// process is a token server in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	addr   string // where it listens
	admin  string // base of its admin URLs, "" without
	ended  chan struct{}
	failed error // how it ended; read after ended is closed
	log    *tail
}

// loopback returns an address with any port that is the test's own, so that nobody takes the port of a server that is
// down.
func loopback(t *testing.T) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.Name())) // it never fails
	return fmt.Sprintf("127.83.%d.%d:0", h.Sum32()>>8&0xff, 1+h.Sum32()%250)
}

// flowRule writes a file with one rule: so many units of a flow in a window, for all clients together.
func flowRule(t *testing.T, id int64, count float64, window time.Duration) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.json")
	text := fmt.Sprintf(`[{"resource":"r","count":%v,"clusterMode":true,"clusterConfig":{"flowId":%d,"thresholdType":1,"windowIntervalMs":%d}}]`,
		count, id, window.Milliseconds())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startProcess runs a token server. It is killed at the end of the test if it still runs then.
func startProcess(t *testing.T, args ...string) *process { return startProcessBy(t, nil, nil, args...) }

// startProcessBy is startProcess with a change of the command before it starts, and something to do when it has.
func startProcessBy(t *testing.T, change func(*exec.Cmd), started func(pid int), args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self, append([]string{"token-server"}, args...)...), ended: make(chan struct{}), log: new(tail)}
	p.cmd.Env = append(os.Environ(), role+"="+asCommand)
	p.cmd.Stderr = p.log
	if change != nil {
		change(p.cmd)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if started != nil {
		started(p.cmd.Process.Pid)
	}
	lines := make(chan string, 10)
	go p.follow(out, lines)
	p.addr = p.said(lines, "listening on ")
	if strings.Contains(strings.Join(args, " "), "-admin ") {
		p.admin = p.said(lines, "admin on ")
	}
	return p
}

// follow reads what the process says until it ends.
func (p *process) follow(out io.Reader, lines chan<- string) {
	for s := bufio.NewScanner(out); s.Scan(); {
		select {
		case lines <- s.Text():
		default: // nobody reads so many
		}
	}
	p.failed = p.cmd.Wait()
	close(p.ended)
}

func (p *process) said(lines <-chan string, prefix string) string {
	p.t.Helper()
	select {
	case line := <-lines:
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest
		}
		p.t.Fatalf("said %q", line)
	case <-p.ended:
		p.t.Fatalf("ended: %v\n%s", p.failed, p.log)
	case <-time.After(patience):
		p.t.Fatal("says nothing")
	}
	return ""
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the process as kill -9 does, if it runs.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("still runs\n%s", p.log)
	}
	var code *exec.ExitError
	if p.failed != nil && !errors.As(p.failed, &code) {
		p.t.Fatal(p.failed)
	}
	return p.cmd.ProcessState.ExitCode()
}

// status asks the admin address.
func (p *process) status() (st standalone.Status) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.admin+"/status", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.log)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&st); err != nil {
		p.t.Fatal(err)
	}
	return st
}

// memory returns the resident memory of the process, in bytes.
func (p *process) memory() int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return kb << 10
		}
	}
	p.t.Fatalf("no VmRSS in %s", text)
	return 0
}

// used returns how much processor time the process has taken.
func (p *process) used() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks int
	for _, field := range strings.Fields(rest)[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // the unit of that file
}

// descriptors returns how many files and sockets the process holds.
func (p *process) descriptors() int {
	p.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(list)
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if extra := len(w.text) - 16<<10; extra > 0 {
		w.text = w.text[extra:]
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

// until waits until the condition holds, and returns how long that took.
func until(t *testing.T, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for ; !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
	return time.Since(began)
}
