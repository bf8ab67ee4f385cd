package embed

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"example.com/shop/item"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
)

type file struct{ *strings.Reader }

func (file) Close() error                                       { return fs.ErrClosed }
func (file) String() string                                     { return "file" }
func (file) Name(context.Context) (string, error)               { return "name", nil }
func (file) Stat() (fs.FileInfo, error)                         { return nil, fs.ErrPermission }
func (file) List(_ context.Context, n int) ([]item.Item, error) { return make([]item.Item, n), nil }

func TestFile(t *testing.T) {
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "File.Name"}, flow.Rule{Resource: "File.String"}); err != nil {
		t.Fatal(err)
	}
	var f File = NewGuardedFile(file{strings.NewReader("text")}, e, nil)
	if b, err := io.ReadAll(f); string(b) != "text" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if err := f.Close(); err != fs.ErrClosed {
		t.Errorf("Close: %v", err)
	}
	if _, err := f.Stat(); err != fs.ErrPermission {
		t.Errorf("Stat: %v", err)
	}
	if l, err := f.List(context.Background(), 2); len(l) != 2 || err != nil {
		t.Errorf("List: %v, %v", l, err)
	}
	if n, err := f.Name(context.Background()); n != "" || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("Name: %q, %v, want it refused", n, err)
	}
	if s := f.String(); s != "" {
		t.Errorf("String: %q, want it refused", s)
	}
	// io.EOF is an error that readers end with; it is up to the guard to ignore it.
	if s, _ := e.ResourceStats("File.Read"); s.TotalPass != 2 || s.TotalException != 1 {
		t.Errorf("%d reads, %d failed", s.TotalPass, s.TotalException)
	}
}
