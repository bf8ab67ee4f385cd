package tokens

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// asked is the variable of the environment that makes this program a server, and says which.
const asked = "TIDEGATE_BENCHMARK_SERVER"

// The kinds of servers.
const (
	floor = "floor"
	ours  = "tidegate"
)

// Child serves, if this process was started as a server, until in ends. was says whether it was.
func Child(in io.Reader, out io.Writer) (was bool, err error) {
	var addr net.Addr
	switch kind := os.Getenv(asked); kind {
	case "":
		return false, nil
	case floor:
		addr, err = listenFloor()
	case ours:
		addr, err = listenOurs()
	default:
		err = fmt.Errorf("%s: there is no server %q", asked, kind)
	}
	if err != nil {
		return true, err
	}
	fmt.Fprintln(out, addr)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fmt.Fprintln(out, int64(measure.CPUTime()))
	}
	return true, lines.Err()
}

// process is a server that was started.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string
}

func start(kind string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), asked+"="+kind)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting server %s: %w", kind, err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting server %s: %w", kind, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting server %s: %w", kind, err)
	}
	p.out = bufio.NewReader(out)
	if p.addr, err = p.line(); err != nil {
		return nil, errors.Join(fmt.Errorf("server %s gave no address: %w", kind, err), p.stop())
	}
	return p, nil
}

func (p *process) line() (string, error) {
	line, err := p.out.ReadString('\n')
	return strings.TrimSpace(line), err
}

// cpu asks the server for the CPU time that it has used.
func (p *process) cpu() (time.Duration, error) {
	if _, err := fmt.Fprintln(p.in); err != nil {
		return 0, fmt.Errorf("asking a server for its CPU time: %w", err)
	}
	line, err := p.line()
	if err != nil {
		return 0, fmt.Errorf("asking a server for its CPU time: %w", err)
	}
	ns, err := strconv.ParseInt(line, 10, 64)
	return time.Duration(ns), err
}

// stop ends the server.
func (p *process) stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
