package interop_test

import (
	"bytes"
	"encoding/json"
	"net"
	"sync"
	"testing"
)

// javaServer is the token server of the Java program.
type javaServer struct {
	*java
	address string

	nsMu       sync.Mutex
	namespaces []string // guarded by nsMu
}

// startJavaServer starts a token server. It ends with the test.
func startJavaServer(t *testing.T) *javaServer {
	t.Helper()
	s := &javaServer{java: startJava(t, "server"), address: freeAddr(t)}
	if err := s.configure(nil); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	return s
}

func (s *javaServer) start(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.address)
	s.tell(t, "start", port)
}

// freeAddr returns a loopback address with a port that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *javaServer) addr() string { return s.address }

func (s *javaServer) configure(config []byte) error {
	_, err := s.try("flow-config " + oneLine(or(string(config), "{}")))
	return err
}

func (s *javaServer) load(namespace string, flowRules, paramRules []byte) error {
	s.nsMu.Lock()
	defer s.nsMu.Unlock()
	s.namespaces = append(s.namespaces, namespace)
	_, err := s.try("namespaces " + string(must(json.Marshal(s.namespaces))))
	if err == nil {
		_, err = s.try("flow-rules " + namespace + " " + oneLine(string(flowRules)))
	}
	if err == nil {
		_, err = s.try("param-rules " + namespace + " " + oneLine(string(paramRules)))
	}
	return err
}

// oneLine returns JSON without line ends; a command is a line.
func oneLine(text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		panic(err)
	}
	return b.String()
}

func (s *javaServer) connected(namespace string) (int, error) {
	a, err := s.try("status")
	return a.Connected[namespace], err
}
