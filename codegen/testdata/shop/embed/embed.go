// Package embed has interfaces that embed others.
package embed

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"example.com/shop/item"
)

//go:generate tidegate wrap -type File

// File embeds interfaces of its own and of other packages; Close is in two of them.
type File interface {
	io.ReadCloser
	io.WriterTo
	fmt.Stringer
	named
	item.Lister[item.Item]
	interface {
		Stat() (fs.FileInfo, error)
	}
}

type named interface {
	Name(ctx context.Context) (string, error)
	io.Closer
}
