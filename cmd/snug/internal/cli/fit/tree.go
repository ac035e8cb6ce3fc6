// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tree is a directory as the root of a file system that no link leads out of. The owner of
// the tree may be hostile (a container's own root), so tree opens only regular files of
// bounded size: a pipe cannot block snug.
type tree struct {
	root *os.Root
	size int64 // of all files opened so far
}

// maxFile bounds each file of a tree, and maxTree all of them together. Copies of proc and
// cgroupfs files are far smaller, and mounted ones have size 0. maxSituation bounds a saved
// tree.
const (
	maxFile      = 4 << 20
	maxTree      = 32 << 20
	maxSituation = 64 << 20
)

func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		return f, nil
	case info.Mode().IsRegular() && info.Size() <= min(maxFile, maxTree-t.size):
		t.size += info.Size()
		return f, nil
	case info.Mode().IsRegular():
		err = errors.New("too large")
	default:
		err = errors.New("not a plain file")
	}
	f.Close()
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

func (t *tree) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return t.root.Stat(name)
}
