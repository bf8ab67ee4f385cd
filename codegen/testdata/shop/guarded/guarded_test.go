package guarded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"example.com/shop/pb"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
)

func TestOthers(t *testing.T) {
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "GreeterServer.SayHello"}, flow.Rule{Resource: "ReadWriter.Write"}); err != nil {
		t.Fatal(err)
	}
	var server pb.GreeterServer = NewGuardedGreeterServer(pb.UnimplementedGreeterServer{}, e, nil)
	if r, err := server.SayHello(context.Background(), &pb.Request{}); r != nil || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("SayHello: %v, %v", r, err)
	}
	var rw io.ReadWriter = NewGuardedReadWriter(bytes.NewBufferString("in"), e, nil)
	if b, err := io.ReadAll(rw); string(b) != "in" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if n, err := rw.Write([]byte("out")); n != 0 || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("Write: %d, %v", n, err)
	}
}
