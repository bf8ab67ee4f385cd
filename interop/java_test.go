package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	startDeadline  = time.Minute
	answerDeadline = 30 * time.Second
	stopDeadline   = 5 * time.Second
)

// java is a running Java program. Its commands may be given by several goroutines.
type java struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // closed when the program has closed its output
	exited chan struct{}
	stderr *tail
	mu     sync.Mutex // guards the order of commands and answers
}

// startJava starts the Java program and waits until it answers. It ends with the test.
func startJava(t *testing.T, mode ...string) *java {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dfile.encoding=UTF-8", "-Duser.home=" + dir,
		"-Dcsp.sentinel.log.dir=" + dir, "-Dproject.name=interop", "-cp", classPath(t), "interop.Main",
	}, mode...)
	j := &java{cmd: exec.Command("java", args...), lines: make(chan string), exited: make(chan struct{}), stderr: &tail{}}
	j.cmd.Stderr = j.stderr
	j.cmd.WaitDelay = stopDeadline
	stdout := must(j.cmd.StdoutPipe())
	j.stdin = must(j.cmd.StdinPipe())
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go j.read(stdout)
	t.Cleanup(j.end)
	for { // the library writes lines of its own before the first answer
		line, err := j.line(startDeadline)
		if err != nil {
			t.Fatalf("the Java program did not start: %v", err)
		}
		if line == `{"ready":true}` {
			return j
		}
	}
}

func (j *java) read(stdout io.Reader) {
	defer close(j.exited)
	defer func() { _ = j.cmd.Wait() }() // it is killed by tests: its exit code says nothing
	defer close(j.lines)
	for s := bufio.NewScanner(stdout); s.Scan(); {
		if strings.HasPrefix(s.Text(), "{") {
			j.lines <- s.Text()
		}
	}
}

func (j *java) line(deadline time.Duration) (string, error) {
	select {
	case line, ok := <-j.lines:
		if !ok {
			return "", fmt.Errorf("it has ended; its last errors:\n%s", j.stderr)
		}
		return line, nil
	case <-time.After(deadline):
		return "", fmt.Errorf("no answer in %s; its last errors:\n%s", deadline, j.stderr)
	}
}

// javaAnswer is what the program answers; which members count depends on the command.
type javaAnswer struct {
	answer
	Error     string         `json:"error"`
	Rules     int            `json:"rules"`
	State     int            `json:"state"`
	Connected map[string]int `json:"connected"`
	Statuses  map[string]int `json:"statuses"`
	Passed    bool           `json:"passed"`
	Block     string         `json:"block"`
	Millis    int            `json:"millis"`
}

// tell gives a command and returns its answer. An error ends the test, so it belongs into the test's goroutine.
func (j *java) tell(t *testing.T, command string, args ...any) javaAnswer {
	t.Helper()
	a, err := j.try(strings.TrimSpace(command + " " + strings.TrimSuffix(fmt.Sprintln(args...), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try gives a command line and returns its answer.
func (j *java) try(line string) (javaAnswer, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var a javaAnswer
	if _, err := io.WriteString(j.stdin, line+"\n"); err != nil {
		return a, fmt.Errorf("the Java program does not take %q: %w; its last errors:\n%s", line, err, j.stderr)
	}
	text, err := j.line(answerDeadline)
	if err != nil {
		return a, fmt.Errorf("%q to the Java program: %w", line, err)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("%q to the Java program: %w in %s", line, err, text)
	}
	if a.Error != "" {
		return a, fmt.Errorf("%q to the Java program: %s", line, a.Error)
	}
	return a, nil
}

// kill ends the program as kill -9 does and waits for its end.
func (j *java) kill() {
	_ = j.cmd.Process.Kill() // it may have ended
	<-j.exited
}

// end closes the program's input, which ends it, and kills it if that takes long.
func (j *java) end() {
	_ = j.stdin.Close()
	go func() {
		for range j.lines { // an answer nobody waits for keeps it from ending
		}
	}()
	select {
	case <-j.exited:
	case <-time.After(stopDeadline):
		j.kill()
	}
}

// tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if extra := len(w.text) - 4096; extra > 0 {
		w.text = append(w.text[:0], w.text[extra:]...)
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

// classPath returns the Java program's class path; it skips the test where Java or Maven is missing.
func classPath(t *testing.T) string {
	t.Helper()
	for _, command := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("the tests with Sentinel for Java were skipped: they need Java 17 and Maven, and %q is not in the PATH", command)
		}
	}
	if err := build(); err != nil {
		t.Fatalf("the Java program was not built: %v", err)
	}
	return filepath.Join("java", "target", "interop.jar") + string(os.PathListSeparator) +
		filepath.Join("java", "target", "lib", "*")
}
