//go:build linux

package main

import (
	"context"
	crand "crypto/rand"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// What attackers do, all at once.
const (
	newPerSecond = 200
	halfOpen     = 1000
	slowOnes     = 50
)

// attackMain attacks an address until the standard input ends. It says when it has begun.
func attackMain(addr string) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var open []net.Conn
	for range halfOpen {
		if c, err := net.DialTimeout("tcp", addr, patience); err == nil {
			open = append(open, c)
		}
	}
	for _, c := range open[:min(slowOnes, len(open))] {
		running.Go(func() { slowly(ctx, c) })
	}
	running.Go(func() { attack(ctx, addr) })
	_, _ = os.Stdout.WriteString("attacking\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until its end
	cancel()
	running.Wait()
	for _, c := range open {
		_ = c.Close() // the server may have closed it
	}
}

// attack makes new connections until the context ends.
func attack(ctx context.Context, addr string) {
	pace := time.NewTicker(time.Second / newPerSecond)
	defer pace.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
			running.Go(func() { once(addr, attacks()[n%len(attacks())]) })
		}
	}
}

// once makes one connection for an attack.
func once(addr string, attack func(net.Conn)) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond)) // else it lasts longer
	attack(c)
	_ = c.Close() // the server may have closed it
}

// attacks are what a connection can be used for, besides asking. The server may end it meanwhile.
func attacks() []func(net.Conn) {
	send := func(b []byte) func(net.Conn) { return func(c net.Conn) { _ = write(c, b) } }
	return []func(net.Conn){
		func(net.Conn) {},
		// Half a frame.
		send([]byte{0, 18, 0, 0, 0, 1, 1}),
		// Too long.
		send(slices.Concat([]byte{0xff, 0xff}, make([]byte, 70_000))),
		// Not TLS.
		send(slices.Concat([]byte{0x16, 3, 1, 2, 0}, random(512))),
		// Garbage.
		func(c net.Conn) { _ = write(c, random(1+rand.IntN(5000))) },
		func(c net.Conn) {
			// As soon as a frame was sent, gone.
			_ = write(c, []byte{0, 18, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0})
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		},
		func(c net.Conn) { // malformed frames one after the other
			for range 150 {
				if write(c, []byte{0, 6, 0, 0, 0, 1, 1, 9}) != nil {
					return
				}
			}
			_, _ = c.Read(make([]byte, 4096))
		},
		func(c net.Conn) { // many questions, no answer read
			one := []byte{0, 18, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0}
			_ = write(c, slices.Repeat(one, 500))
			time.Sleep(100 * time.Millisecond)
		},
		guess,
		func(c net.Conn) { // the same inside TLS
			guess(tls.Client(c, &tls.Config{InsecureSkipVerify: true}))
		},
		func(c net.Conn) { // a TLS handshake that is left
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake()
		},
	}
}

// guess tries a secret.
func guess(c net.Conn) {
	var all []byte
	for _, r := range []wire.Request{
		{XID: wire.HelloXID, Type: wire.TypePing, Namespace: []byte("shop")},
		{XID: 1, Type: wire.TypeChallenge, Auth: random(wire.NonceSize)},
		{XID: 2, Type: wire.TypeProve, Auth: random(32)},
	} {
		all, _ = wire.AppendRequest(all, &r) // these can be encoded
	}
	if write(c, all) == nil {
		_, _ = io.Copy(io.Discard, c) // until the server ends it
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = crand.Read(b) // it never fails
	return b
}

// slowly sends a frame byte by byte.
func slowly(ctx context.Context, c net.Conn) {
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for _, b := range slices.Repeat([]byte{0, 200}, 1000) {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
			if write(c, []byte{b}) != nil {
				return
			}
		}
	}
}
