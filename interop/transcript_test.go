package interop_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exchangeLine is a frame of a transcript, sent or to be received.
type exchangeLine struct {
	send  bool
	frame []byte
	text  string
}

// transcript reads lines of "->" or "<-", a frame in hexadecimal, and words after "#".
func transcript(t *testing.T, name string) []exchangeLine {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var lines []exchangeLine
	for l := range strings.Lines(string(text)) {
		frame, _, _ := strings.Cut(l, "#")
		if frame = strings.TrimSpace(frame); frame != "" {
			lines = append(lines, exchangeLine{strings.HasPrefix(frame, "->"), unhex(frame[2:]), strings.TrimSpace(l)})
		}
	}
	return lines
}

// say sends what a transcript sends and says at which line the server answered otherwise, "" if nowhere.
func say(t *testing.T, addr string, lines []exchangeLine) (line string, got []byte) {
	t.Helper()
	c, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, l := range lines {
		if l.send {
			if _, err := c.Write(l.frame); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := c.receive()
		if err != nil {
			t.Fatalf("%s: %v", l.text, err)
		}
		if !bytes.Equal(got, l.frame) {
			return l.text, got
		}
	}
	return "", nil
}

// replay says a transcript from the start of a second until it was said within one, and reports what differed.
func replay(t *testing.T, srv tokenServer, tm timer) {
	t.Helper()
	lines := transcript(t, "transcript.txt")
	err := srv.load("appA", []byte(`[
		{"resource":"a","count":10,"clusterMode":true,"clusterConfig":{"flowId":101,"thresholdType":1}},
		{"resource":"b","count":5,"clusterMode":true,"clusterConfig":{"flowId":102,"thresholdType":0}}]`), []byte(`[
		{"resource":"c","count":2,"paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":202,"thresholdType":1}}]`))
	if err != nil {
		t.Fatal(err)
	}
	for range attempts {
		if err := awaitConnected(srv, "appA", 0); err != nil {
			t.Fatal(err)
		}
		start := tm.align(1000)
		line, got := say(t, srv.addr(), lines)
		if tm.now() > start+900 {
			continue
		}
		if line != "" {
			t.Errorf("got %x, want %s", got, line)
		}
		return
	}
	t.Fatalf("the transcript took longer than its second in %d runs: is the machine overloaded?", attempts)
}
