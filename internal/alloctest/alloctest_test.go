package alloctest_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/internal/alloctest"
)

func TestCount(t *testing.T) { // not parallel: AllocsPerRun
	var sink *int
	call := 0
	if n := alloctest.Count(func() {
		if call++; call%100 == 0 {
			sink = new(int)
		}
	}); n != 1 || sink == nil {
		t.Errorf("%v allocations in 100 calls, want 1", n)
	}
	if n := alloctest.Count(func() {}); n != 0 {
		t.Errorf("%v allocations of nothing", n)
	}
}
