// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// A tree is a root directory with files to read: this machine's, by plain
// system calls, or any fs.FS. Names start with a slash. Errors come bare,
// without the path.
type tree interface {
	// read reads a file into buf, which has room and grows as it must. The kernel makes up
	// most files whole for one read; long says that it hands this one over in
	// parts (mountinfo).
	read(name string, buf []byte, long bool) ([]byte, error)
	// peek is read of all of a file that is not read again, and is not kept.
	peek(name string, buf []byte) ([]byte, error)
	// missing reports that there is no such directory. One that may not be
	// looked at is not missing.
	missing(name string) bool
	// has reports that there is such a file.
	has(name string) bool
	// group is nil when a directory is a cgroup of the hierarchy that a mount shows: a
	// file that is not in it then says something.
	group(dir string, m *cgroup.Mount) error
	// list calls f for each group right below one, until it says no. inode is 0 where
	// it is not known.
	list(dir string, f func(name string, inode uint64) bool) error
	// inode is a directory's, 0 where it is not known.
	inode(dir string) uint64
	// rest gives back what was kept from one read to the next.
	rest()
}

// An opener is a tree whose files can be kept open.
type opener interface {
	tree
	open(name string) (file, error)
}

// A file can be read again and again. readAt is io.ReaderAt's, but 0 bytes
// without an error is the end.
type file interface {
	readAt(buf []byte, off int64) (int, error)
	shut()
}

// maxFile is more than any file of proc or of a cgroup holds. Saved trees may hold anything,
// and anything may be mounted over a file.
const maxFile = 16 << 20

var errTooLong = errors.New("too long")

// readFile reads a file from its start. See tree.read.
func readFile(f file, buf []byte, long bool) ([]byte, error) {
	buf = buf[:0]
	for {
		n, err := f.readAt(buf[len(buf):cap(buf)], int64(len(buf)))
		buf = buf[:len(buf)+n]
		if len(buf) >= maxFile {
			err = errTooLong
		}
		if err != nil || n == 0 || !long && len(buf) < cap(buf) {
			return buf, err
		}
		buf = slices.Grow(buf, 1)
	}
}

// fsTree reads any fs.FS.
type fsTree struct{ fsys fs.FS }

func (t fsTree) peek(name string, buf []byte) ([]byte, error) { return t.read(name, buf, true) }

func (t fsTree) missing(name string) bool {
	info, err := fs.Stat(t.fsys, fsName(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

func (t fsTree) has(name string) bool {
	_, err := fs.Stat(t.fsys, fsName(name))
	return err == nil
}

// group goes by cgroup.procs, which every group has, of v1 and v2, and which a saved
// tree keeps.
func (t fsTree) group(dir string, _ *cgroup.Mount) error {
	_, err := fs.Stat(t.fsys, fsName(dir+"/cgroup.procs"))
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return bare(err)
	case t.missing(dir):
		return errNoDirectory
	}
	return errNoProcs
}

func (t fsTree) list(dir string, f func(name string, inode uint64) bool) error {
	entries, err := fs.ReadDir(t.fsys, fsName(dir))
	for _, e := range entries {
		if e.IsDir() && !f(e.Name(), 0) {
			return nil
		}
	}
	return bare(err)
}

func (fsTree) inode(string) uint64 { return 0 }
func (fsTree) rest()               {}

func (t fsTree) read(name string, buf []byte, long bool) ([]byte, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.shut()
	return readFile(f, buf, long)
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

func (f *fsFile) shut() { f.f.Close() }

func (f *fsFile) readAt(buf []byte, off int64) (int, error) {
	if r, ok := f.f.(io.ReaderAt); ok {
		n, err := r.ReadAt(buf, off)
		if err == io.EOF {
			err = nil
		}
		return n, bare(err)
	}
	if off == 0 {
		again, err := f.fsys.Open(f.name)
		if err != nil {
			return 0, bare(err)
		}
		defer again.Close()
		if f.text, err = io.ReadAll(io.LimitReader(again, maxFile)); err != nil {
			return 0, bare(err)
		}
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

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
