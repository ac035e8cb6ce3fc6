// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io"
	"io/fs"
	"strings"
)

// A tree is a root directory that files are opened in: this machine's, by
// system calls that allocate nothing, or any fs.FS. Names start with a slash.
// Errors come bare, without the path. live is true for this machine.
type tree interface {
	open(name string) (file, error)
	// missing reports that there is no such directory. One that may not be
	// looked at is not missing.
	missing(name string) bool
	live() bool
}

// A file stays open and is read again and again. readAt is io.ReaderAt's, but
// 0 bytes without an error is the end, and fewer bytes than asked for may be
// followed by more.
type file interface {
	readAt(buf []byte, off int64) (int, error)
	close()
}

// readWhole reads a file from start to end into buf, which grows as it must.
func readWhole(f file, buf []byte) ([]byte, error) {
	buf = buf[:cap(buf)]
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, max(4096, n))...)
		}
		m, err := f.readAt(buf[n:], int64(n))
		n += m
		if err != nil || m == 0 {
			return buf[:n], err
		}
	}
}

// fsTree reads any fs.FS.
type fsTree struct{ fsys fs.FS }

func (t fsTree) live() bool { return false }

func (t fsTree) missing(name string) bool {
	info, err := fs.Stat(t.fsys, fsName(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

func (t fsTree) open(name string) (file, error) {
	f, err := t.fsys.Open(fsName(name))
	if err != nil {
		return nil, bare(err)
	}
	return &fsFile{fsys: t.fsys, name: fsName(name), f: f}, nil
}

// fsName is name as io/fs wants it: no slash at either end, "." for the root.
func fsName(name string) string {
	if name = strings.Trim(name, "/"); name == "" {
		return "."
	}
	return name
}

// bare is an error without the path that the message of a path error repeats.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

type fsFile struct {
	fsys fs.FS
	name string
	f    fs.File
	text []byte // the content, for file systems whose files have no ReadAt
}

func (f *fsFile) close() { f.f.Close() }

func (f *fsFile) readAt(buf []byte, off int64) (int, error) {
	if r, ok := f.f.(io.ReaderAt); ok {
		n, err := r.ReadAt(buf, off)
		if err == io.EOF {
			err = nil
		}
		return n, bare(err)
	}
	if off == 0 {
		text, err := fs.ReadFile(f.fsys, f.name)
		if err != nil {
			return 0, bare(err)
		}
		f.text = text
	}
	return copy(buf, f.text[min(off, int64(len(f.text))):]), nil
}

// why is an error in a word or two.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	return err.Error()
}
