package client

import (
	"testing"
	"unsafe"
)

// What a plain flow request touches of its waiter is one cache line, and waiters do not share lines.
func TestWaiterLines(t *testing.T) {
	t.Parallel()
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("laid out for 64 bits")
	}
	if at := unsafe.Offsetof(waiter{}.tokenID); at != 64 {
		t.Errorf("the rare part begins at %d", at)
	}
	if size := unsafe.Sizeof(waiter{}); size != 128 {
		t.Errorf("size %d", size)
	}
}
