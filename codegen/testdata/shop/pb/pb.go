// Package pb looks like what generates gRPC servers generate.
package pb

import "context"

// Request and Reply are messages.
type (
	Request struct{ Name string }
	Reply   struct{ Text string }
)

// GreeterServer can only be implemented by embedding UnimplementedGreeterServer.
type GreeterServer interface {
	SayHello(ctx context.Context, in *Request) (*Reply, error)
	mustEmbedUnimplementedGreeterServer()
}

// UnimplementedGreeterServer is to be embedded.
type UnimplementedGreeterServer struct{}

// SayHello says nothing.
func (UnimplementedGreeterServer) SayHello(context.Context, *Request) (*Reply, error) {
	return &Reply{}, nil
}

func (UnimplementedGreeterServer) mustEmbedUnimplementedGreeterServer() {}
