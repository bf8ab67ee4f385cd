package standalone_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// lines counts what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// What is refused is tried again and again, and told once.
func TestRefusalsAreToldOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	log := &lines{}
	config := p.write("config.yaml", "listen: 127.0.0.1:0\nnamespace: [shop="+p.write("rules.json", "["+rule(1, 1)+"]")+"]\n")
	load := func() (standalone.Config, error) { return standalone.Load(config) }
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, c, standalone.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	defer standalone.Follow(t.Context(), config, s, load)()
	for i, content := range []string{"[bad", "[worse", "[bad"} {
		p.write("rules.json", content)
		eventually(t, "the bad file is told", func() bool { return log.count("rule file refused") == i+1 })
	}
	p.write("config.yaml", "listen: [")
	eventually(t, "the bad configuration was tried three times", func() bool { return s.Status().Config.Refused >= 3 })
	if rules, configs := log.count("rule file refused"), log.count("configuration refused"); rules != 3 || configs != 1 {
		t.Errorf("told %d and %d times, want 3 and 1", rules, configs)
	}
}
