package token

import (
	"testing"
	"unsafe"
)

func TestFlowFillsOneLine(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(hotFlow{}); unsafe.Sizeof(uintptr(0)) == 8 && size != 64 {
		t.Errorf("%d bytes: the allocator aligns multiples of a cache line only", size)
	}
}
