package interop_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "store the answers of the Java server in testdata/scripts")

// loadScripts returns the stored scripts, by their file's name.
func loadScripts(t *testing.T) (names []string, scripts []script) {
	t.Helper()
	files := must(filepath.Glob(filepath.Join("testdata", "scripts", "*.json")))
	for _, file := range files {
		var s script
		d := json.NewDecoder(bytes.NewReader(must(os.ReadFile(file))))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		names, scripts = append(names, filepath.Base(file)), append(scripts, s)
	}
	return names, scripts
}

// playAll plays scripts, those with the same configuration of the server side by side.
func playAll(t *testing.T, scripts []script, srv tokenServer, tm timer, client asker) [][]answer {
	t.Helper()
	answers := make([][]answer, len(scripts))
	for i, s := range scripts {
		if answers[i] != nil {
			continue
		}
		var members []int
		var alike []script
		for k, other := range scripts {
			if bytes.Equal(other.Config, s.Config) {
				members, alike = append(members, k), append(alike, other)
			}
		}
		if err := srv.configure(s.Config); err != nil {
			t.Fatal(err)
		}
		for k, a := range play(t, alike, srv, tm, client) {
			answers[members[k]] = a
		}
	}
	return answers
}

// checkStored plays the stored scripts and compares with the stored answers.
func checkStored(t *testing.T, srv tokenServer, tm timer, client asker, which func(script) bool) {
	t.Helper()
	var names []string
	var scripts []script
	allNames, allScripts := loadScripts(t)
	for i, s := range allScripts {
		if which(s) {
			names, scripts = append(names, allNames[i]), append(scripts, s)
		}
	}
	answers := playAll(t, scripts, srv, tm, client)
	for i, s := range scripts {
		t.Run(names[i], func(t *testing.T) { s.compare(t, answers[i], s.want()) })
	}
}

func all(script) bool { return true }

func plain(s script) bool { return s.Plain }

// warmUp makes a Java process fast enough that a step is answered within its bucket.
func warmUp(t *testing.T, client asker) {
	t.Helper()
	for range 300 {
		for _, s := range []step{{Flow: 999, Count: 1}, {Param: 999, Count: 1, Values: []string{"int:1"}}} {
			if _, err := client.ask(s, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func store(t *testing.T, srv tokenServer, client asker) {
	t.Helper()
	names, scripts := loadScripts(t)
	for i, answers := range playAll(t, scripts, srv, wallTime{}, client) {
		for k, st := range scripts[i].asking() {
			st.Want = &answers[k]
		}
		if err := os.WriteFile(filepath.Join("testdata", "scripts", names[i]), scripts[i].file(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// file returns the script as it is stored: a line for each step.
func (s script) file() []byte {
	steps := s.Steps
	s.Steps = nil
	head := must(json.MarshalIndent(s, "", "  "))
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(head, []byte("null\n}")))
	for i, st := range steps {
		b.WriteString(or(map[bool]string{true: "[\n    "}[i == 0], ",\n    "))
		b.Write(must(json.Marshal(st)))
	}
	b.WriteString("\n  ]\n}\n")
	return b.Bytes()
}
