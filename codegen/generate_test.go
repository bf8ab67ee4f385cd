package codegen_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/tidegate-go/tidegate/codegen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shop is a module of interfaces, with what is generated of them as golden files beside them.
const shop = "testdata/shop"

var goldens = map[string]codegen.Config{
	"store":   {Dir: shop + "/store", Types: []string{"Store"}},
	"caches":  {Dir: shop, Source: "store", Types: []string{"HTTPCache", "lookup"}, Output: "store/caches_guarded.go"},
	"generic": {Dir: shop + "/generic", Types: []string{"Repository", "Numbers", "Strings", "Recursive"}, Output: "guarded.go"},
	"embed":   {Dir: shop, Source: "./embed", Types: []string{"File"}},
	"odd":     {Dir: shop + "/odd", Types: []string{"Odd"}, Output: "odd_guarded.go"},
	"others": {
		Dir:    shop + "/guarded",
		Types:  []string{"example.com/shop/store.Store", "example.com/shop/pb.GreeterServer", "io.ReadWriter", "example.com/shop/generic.Repository"},
		Output: "others_guarded.go",
	},
	"tagged": {Dir: shop + "/tagged", Types: []string{"Tagged"}},
	"beside": {Dir: shop + "/store", Types: []string{"Store"}, Output: "beside_test.go", Package: "store_test"},
	"new":    {Dir: shop, Source: "example.com/shop/pb", Types: []string{"GreeterServer"}, Output: "new-place/pb.go"},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, c := range goldens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := codegen.Generate(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if len(files) != 1 {
				t.Fatalf("%d files, want 1", len(files))
			}
			path := filepath.Join(c.Dir, files[0].Name)
			if *update {
				if err := os.WriteFile(path, files[0].Content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(files[0].Content, want) {
				t.Errorf("generated:\n%s\nwant, as in %s:\n%s", files[0].Content, path, want)
			}
		})
	}
}
