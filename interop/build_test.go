package interop_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const buildDeadline = 5 * time.Minute

// build builds the Java program once, if it is not newer than its sources: with Maven's usual repositories and, if
// those cannot be reached, from what they gave before.
var build = sync.OnceValue(func() error {
	if upToDate() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildDeadline)
	defer cancel()
	err := maven(ctx)
	if err == nil {
		return nil
	}
	if offline := maven(ctx, "--offline"); offline != nil {
		return errors.Join(err, offline)
	}
	return nil
})

func maven(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "mvn", append(args, "--batch-mode", "--quiet", "package")...)
	cmd.Dir = "java"
	cmd.WaitDelay = stopDeadline
	var output tail
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", cmd, cmd.Dir, err, &output)
	}
	return nil
}

// upToDate says whether the jar is newer than all it is made from.
func upToDate() bool {
	jar, err := os.Stat(filepath.Join("java", "target", "interop.jar"))
	if err != nil {
		return false
	}
	old := errors.New("a newer source")
	newer := func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(jar.ModTime()) {
			err = old
		}
		return err
	}
	return filepath.WalkDir(filepath.Join("java", "src"), newer) == nil &&
		filepath.WalkDir(filepath.Join("java", "pom.xml"), newer) == nil
}
