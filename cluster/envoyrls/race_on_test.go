//go:build race

package envoyrls_test

// raceEnabled says whether the race detector is on: it makes calls slow and sync.Pool drop what it holds.
const raceEnabled = true
