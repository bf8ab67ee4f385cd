package figure

import (
	"strconv"
	"testing"
	"time"
)

// What is kept of every name is seen, however little it is beside the names that come and go.
func TestGrowthSeesALeak(t *testing.T) {
	c := newClock()
	e, err := engineOn(c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const steps, names, size = 60, 100, 256
	var kept [][]byte
	got := growth(steps, func() {
		for range names {
			call(e, "new-"+strconv.Itoa(1_000_000+len(kept)))
			kept = append(kept, make([]byte, size))
		}
	}, func() {
		c.advance(30 * time.Second)
		e.Maintain()
	})
	if want := 0.5 * steps * names * size; got < want || len(kept) != steps*names {
		t.Errorf("growth %.0f with %d bytes kept of each of %d names, want at least %.0f", got, size, len(kept), want)
	}
}

// The names that an engine has go up and down. Wherever the measurement meets them, that is no growth.
func TestGrowthIgnoresTheTide(t *testing.T) {
	for shift := range 2 {
		var held [][]byte
		step := shift
		got := growth(100, func() {
			for range 100 {
				held = append(held, make([]byte, 4096))
			}
		}, func() {
			if step++; step%5 == 0 {
				held = nil
			}
			if step == 50 {
				step += 2 // an extra pass of maintenance moves the tide
			}
		})
		if got > 64<<10 || got < -64<<10 {
			t.Errorf("shifted by %d: %.0f bytes", shift, got)
		}
	}
}
