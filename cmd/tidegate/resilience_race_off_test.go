//go:build linux && !race

package main

// raceEnabled says whether the race detector is on: it makes processes large and slow.
const raceEnabled = false
