//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
)

// island is a token server in a network of its own, with one cable to this one.
type island struct {
	t       *testing.T
	pid     int
	network string // the first three parts of its addresses
	cable   string // the name of its end here
	server  string // address
}

// newIsland skips the test where networks cannot be made.
func newIsland(t *testing.T, number int) *island {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make a network")
	}
	for _, tool := range []string{"ip", "tc", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("making a network needs the command %s", tool)
		}
	}
	i := &island{t: t, network: fmt.Sprintf("10.83.%d", (os.Getpid()+number)%256), cable: fmt.Sprintf("tg%d-%d", os.Getpid(), number)}
	p := startProcessBy(t, func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	}, i.connect, "-listen", "0.0.0.0:0", "-insecure", "-namespace", "shop="+flowRule(t, fleetFlow, fleetLimit, time.Second))
	_, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		t.Fatal(err)
	}
	i.server = i.network + ".2:" + port
	return i
}

// connect lays the cable.
func (i *island) connect(pid int) {
	i.pid = pid
	i.here("ip link add %s type veth peer name uplink netns %d", i.cable, pid)
	i.t.Cleanup(func() { _ = exec.Command("ip", "link", "del", i.cable).Run() }) // it may have gone with the process
	i.here("ip addr add %s.1/29 dev %s", i.network, i.cable)
	i.here("ip addr add %s.3/29 dev %s", i.network, i.cable)
	i.here("ip link set %s up", i.cable)
	i.there("ip addr add %s.2/29 dev uplink", i.network)
	i.there("ip link set uplink up")
}

// here runs a command, there does so in the island's network.
func (i *island) here(format string, args ...any) {
	i.t.Helper()
	words := strings.Fields(fmt.Sprintf(format, args...))
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		i.t.Skipf("a network cannot be made here: %v: %v: %s", words, err, out)
	}
}

func (i *island) there(format string, args ...any) {
	i.t.Helper()
	i.here("nsenter -t %d -n %s", i.pid, fmt.Sprintf(format, args...))
}

// What leaves the cable's end on either side is swallowed, or not any more.
func (i *island) cutHere()  { i.here("tc qdisc add dev %s root blackhole", i.cable) }
func (i *island) cutThere() { i.there("tc qdisc add dev uplink root blackhole") }
func (i *island) mend() {
	i.here("tc qdisc del dev %s root", i.cable)
	i.there("tc qdisc del dev uplink root")
}

func TestCableCut(t *testing.T) {
	i := newIsland(t, 1)
	f := newFleet(t, i.server)
	f.suffer(5*time.Second, fault{func() { i.cutHere(); i.cutThere() }, func() time.Time { i.mend(); return time.Now() }}).judge()
}

// Clients that die without a word, silent or while they were asking, are not counted any more after half a minute.
func TestDeadClientsLeave(t *testing.T) {
	t.Parallel()
	i := newIsland(t, 2)
	join := func(from string) *client.Client {
		c := client.New(client.WithServer(i.server), client.WithNamespace("shop"), client.WithPingInterval(100*time.Millisecond),
			client.WithDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(i.network + from)}}).DialContext(ctx, "tcp", addr)
				if tcp, ok := conn.(*net.TCPConn); ok {
					return conn, tcp.SetLinger(0) // nothing of it stays in the system when it is closed
				}
				return conn, err
			}))
		t.Cleanup(func() { _ = c.Close() }) // it returns nil always
		c.Start()
		return c
	}
	silent, asking := join(".1"), join(".1")
	until(t, "both counted", func() bool { return silent.Connected() == 2 && asking.Connected() == 2 })
	i.cutThere()
	died := time.Now()
	if r := asking.RequestToken(t.Context(), fleetFlow, 1, false); r.Status != chain.TokenFail {
		t.Errorf("%+v through a cut cable", r)
	}
	i.cutHere()
	_, _ = silent.Close(), asking.Close()
	i.here("ip addr del %s.1/29 dev %s", i.network, i.cable)
	i.here("ip addr replace %s.3/29 dev %s", i.network, i.cable)
	i.mend()
	other := join(".3")
	until(t, "another is counted with them", func() bool { return other.Connected() == 3 })
	for other.Connected() != 1 {
		if time.Since(died) > 30*time.Second {
			t.Fatalf("%d are counted half a minute after two died", other.Connected())
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("not counted any more after %v", time.Since(died))
}
