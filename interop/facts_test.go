package interop_test

import (
	"bytes"
	"testing"
)

// The frames of the protocol, as the real token server answers them, and what it does with frames nobody should send.
func TestFramesJavaServer(t *testing.T) {
	srv := startJavaServer(t)
	t.Run("transcript", func(t *testing.T) { replay(t, srv, wallTime{}) })
	for _, o := range oddFrames() {
		t.Run(o.name, func(t *testing.T) { o.check(t, srv, o.java, o.inSync) })
	}
}

// Ours answers the same to what clients send, and answers what they should not send, without losing sync.
func TestFramesOurServer(t *testing.T) {
	for name, compatible := range map[string]bool{"compatible": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			srv, tm := startOurServer(t, compatible)
			t.Run("transcript", func(t *testing.T) { replay(t, srv, tm) })
			for _, o := range oddFrames() {
				t.Run(o.name, func(t *testing.T) { o.check(t, srv, o.ours, true) })
			}
		})
	}
}

func (o oddFrame) check(t *testing.T, srv tokenServer, want string, wantSync bool) {
	t.Helper()
	got, inSync := o.exchange(t, srv.addr())
	if !bytes.Equal(got, unhex(want)) || inSync != wantSync {
		t.Errorf("got %x, in sync %v, want %s, %v", got, inSync, want, wantSync)
	}
}
