package datasource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newFileMode is the mode of a file that WriteFile creates.
const newFileMode fs.FileMode = 0o644

// WriteFile replaces the file at path so that a reader sees the old content or the new, never a part, and a crash
// leaves one of the two: it writes a temporary file in the same directory, syncs it and renames it. The mode of an
// existing file stays, a new one gets 0644; its owner becomes the writing user. If path is a symbolic link, the file it
// leads to is replaced. On error the old file is as it was. Of two writers at once the later wins.
func WriteFile(path string, content []byte) error {
	if err := replaceFile(path, content); err != nil {
		return fmt.Errorf("write %s (old content stays): %w", path, err)
	}
	return nil
}

func replaceFile(path string, content []byte) error {
	target, mode, err := writeTarget(path)
	if err != nil {
		return err
	}
	dir, base := filepath.Split(target)
	if dir == "" {
		dir = "."
	}
	temp, err := os.CreateTemp(dir, "."+base+".*.tmp")
	if err != nil {
		return err
	}
	if err = fill(temp, content, mode); err == nil {
		err = os.Rename(temp.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	syncDir(dir)
	return nil
}

// writeTarget returns the file to replace and the mode that the new one gets.
func writeTarget(path string) (string, fs.FileMode, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, newFileMode, nil
	}
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, errors.New("not a regular file")
	}
	return target, info.Mode().Perm(), nil
}

// fill writes and syncs the temporary file and closes it in any case.
func fill(temp *os.File, content []byte, mode fs.FileMode) error {
	_, err := temp.Write(content)
	if err == nil {
		err = temp.Chmod(mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	return errors.Join(err, temp.Close())
}

// syncDir makes the renaming durable where the system can sync a directory. The new content is in place without it.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
