// Package guarded holds guarded types of other packages' interfaces.
package guarded

//go:generate tidegate wrap -type example.com/shop/store.Store,example.com/shop/pb.GreeterServer,io.ReadWriter,example.com/shop/generic.Repository -output others_guarded.go
