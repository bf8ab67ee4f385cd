package interop_test

import (
	"fmt"
	"testing"
	"time"
)

// eventually polls until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(answerDeadline); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", answerDeadline, what)
		}
	}
}

// awaitConnected waits until the server counts as many connections in the namespace.
func awaitConnected(srv tokenServer, namespace string, want int) error {
	var n int
	for deadline := time.Now().Add(answerDeadline); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var err error
		if n, err = srv.connected(namespace); err != nil || n == want {
			return err
		}
	}
	return fmt.Errorf("the server still counts %d connections in namespace %s, not %d", n, namespace, want)
}
