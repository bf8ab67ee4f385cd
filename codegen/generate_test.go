package codegen_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
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

// What is generated is as in the golden files; these compile, and work as the tests in the module say.
func TestGolden(t *testing.T) {
	t.Parallel()
	t.Run("generate", func(t *testing.T) {
		for name, c := range goldens {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				compare(t, c)
			})
		}
	})
	for _, command := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		t.Run(command[0], func(t *testing.T) {
			goCommand(t, shop, command...)
		})
	}
}

func compare(t *testing.T, c codegen.Config) {
	t.Helper()
	files, err := codegen.Generate(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 {
		t.Fatalf("%d files, want 1", len(files))
	}
	path := filepath.Join(c.Dir, files[0].Name)
	if *update {
		if err := os.WriteFile(path, files[0].Content, 0o600); err != nil {
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
}

func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = dir
	c.Env = append(c.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("go %v: %v\n%s", args, err, out)
	}
}

// Each type has a file of its own unless an output is named, beside the interface.
func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Store": "store", "HTTPCache": "http_cache", "lookup": "lookup", "UserV2Store": "user_v2_store", "DB": "db",
		"My_Type": "my_type", "S3": "s3", "aB": "a_b",
	} {
		if got := codegen.FileName(name); got != want+"_guarded.go" {
			t.Errorf("%s goes to %s, want %s_guarded.go", name, got, want)
		}
	}
	files, err := codegen.Generate(t.Context(), codegen.Config{
		Dir: shop, Source: "example.com/shop/store", Types: []string{"HTTPCache"}, Package: "store_test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.Abs(shop + "/store/http_cache_guarded.go"); len(files) != 1 || files[0].Name != want {
		t.Errorf("%d files, the first is %s, want %s", len(files), files[0].Name, want)
	}
}
