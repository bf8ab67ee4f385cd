package interop_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

const (
	javaTimeout = 5000 // of the Java client in ms: its first requests are slow

	// The Java client notes a request after it has sent it, and drops an answer that comes in between: the caller then
	// times out, with status FAIL. The sooner the server answers the more often, so answers to it are delayed here.
	javaDelay = 3 * time.Millisecond
)

// javaClient asks through the token client of the Java program.
type javaClient struct {
	*java
	proxy *proxy // to the server
}

// startJavaClient starts a token client of the real thing and waits until it is served. It ends with the test.
func startJavaClient(t *testing.T, namespace, addr string) *javaClient {
	t.Helper()
	c := &javaClient{java: startJava(t, "client", namespace)}
	c.tell(t, "timeout", javaTimeout)
	c.assign(t, addr)
	c.tell(t, "start")
	c.await(t, 999_999, 3)
	c.tell(t, "timeout", javaTimeout/10) // it is warm now
	return c
}

// assign sends the client to another server.
func (c *javaClient) assign(t *testing.T, addr string) {
	t.Helper()
	c.proxy = startProxy(t, addr, javaDelay)
	host, port, _ := net.SplitHostPort(c.proxy.addr())
	c.tell(t, "server", host, port)
}

func (c *javaClient) ask(s step, base int64) (answer, error) {
	line := fmt.Sprintf("flow %d %d %v", flowID(s.Flow, base), s.Count, s.Prioritized)
	if len(s.Values) > 0 {
		line = fmt.Sprintf("param %d %d %s", flowID(s.Param, base), s.Count, strings.Join(s.Values, " "))
	}
	a, err := c.try(line)
	return a.answer, err
}

// await asks until the answer has the status.
func (c *javaClient) await(t *testing.T, id, status int) {
	t.Helper()
	eventually(t, fmt.Sprintf("status %d of flow %d", status, id), func() bool {
		return c.tell(t, "flow", id, 1, false).Status == status
	})
}
