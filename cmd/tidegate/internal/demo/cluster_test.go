package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The figures of a short demonstration show what they are meant to.
func TestRunCluster(t *testing.T) {
	t.Parallel()
	const seconds = 6
	var out bytes.Buffer
	if err := RunCluster(t.Context(), Options{Seconds: seconds, Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text := out.String()
	for part, count := range map[string]int{
		"instance=a ": seconds, "instance=b ": seconds, "instance=c ": seconds, "instance=sum ": seconds,
		"the token server is killed": 1, "the token server is back": 1, "EXCEEDED": 0, "summary of 6 seconds": 1,
	} {
		if got := strings.Count(text, part); got != count {
			t.Errorf("%q is there %d times, want %d:\n%s", part, got, count, text)
		}
	}
	var passed int64
	for line := range strings.Lines(text) {
		if strings.Contains(line, "instance=sum") {
			passed += number(t, strings.TrimPrefix(strings.Fields(line)[2], "passed="))
		}
	}
	if passed < clusterLimit*seconds/3 { // all of it on a quiet machine
		t.Errorf("%d calls passed in all:\n%s", passed, text)
	}
}

func TestOutage(t *testing.T) {
	t.Parallel()
	for seconds := 1; seconds <= 60; seconds++ {
		kill, restart := outage(seconds)
		if kill > restart || kill == restart && seconds > 1 || restart >= time.Duration(seconds)*time.Second {
			t.Errorf("%d seconds: killed at %v, back at %v", seconds, kill, restart)
		}
		if seconds >= 5 && restart >= time.Duration(seconds-1)*time.Second {
			t.Errorf("%d seconds: back at %v, no whole second is left to show the recovery", seconds, restart)
		}
	}
}

func TestClusterTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cluster{options: Options{Seconds: 2, Out: &out, Terminal: true}}
	c.seconds = append(c.seconds, clusterSecond{rows: []clusterRow{{instance: "a", passed: 20, blocked: 3, decided: "server"}, {instance: "b", passed: 40, decided: "share"}}})
	c.note("something happened")
	c.view()(c)
	for _, want := range []string{"second 1 of 2", "a            20     3 server", "sum          60     3 up", "something happened"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
