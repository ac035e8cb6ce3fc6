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

// A tree is a root directory with files to read: this machine's, through system calls, or
// any fs.FS. Names start with a slash. Errors do not contain the path.
type tree interface {
	// read reads a file into buf, which has spare capacity and grows as needed. The kernel
	// returns most files in one read; set long for those it returns in parts (mountinfo): they are
	// not kept open.
	read(name string, buf []byte, long bool) ([]byte, error)
	// missing reports whether there is no such directory. A directory that may not be
	// accessed is not missing.
	missing(name string) bool
	// group returns nil if a directory is a cgroup of the hierarchy that a mount shows. Only
	// then does a missing file mean anything.
	group(dir string, m *cgroup.Mount) error
	// list calls f for each child group until f returns false. inode is 0 if it is not
	// known.
	list(dir string, f func(name string, inode uint64) bool) error
	// inode returns a file's inode number, 0 if it is not known, and whether there is such a file.
	inode(name string) (n uint64, ok bool)
	// release closes what was kept open between reads.
	release()
	// sealed reports whether nothing may be opened or looked up any more, because the process
	// might be killed for it.
	sealed() bool
	// exchanged reports whether a file that was kept open is now another file, and forgets it.
	exchanged(name string) bool
	// memory returns the machine's memory in bytes, whatever its meminfo says, 0 if that is not
	// known or lxcfs is not set; and Memory.AddressSpace, math.MaxInt64 for no limit, -1 if it is unknown.
	memory(lxcfs bool) (ram, space int64)
}

// An opener is a tree whose files can be kept open.
type opener interface {
	tree
	open(name string) (file, error)
}

// A file can be read repeatedly. readAt is like io.ReaderAt's, but 0 bytes without an error
// mean the end.
type file interface {
	readAt(buf []byte, off int64) (int, error)
	close()
}

// maxFile exceeds every file of procfs and cgroupfs. Saved trees may contain anything, and
// anything may be mounted over a file.
const maxFile = 16 << 20

var (
	errTooLong = errors.New("too long")
	errSealed  = errors.New("seccomp was tightened since the start")
)

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

func (t fsTree) missing(name string) bool {
	info, err := fs.Stat(t.fsys, fsName(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

func (t fsTree) inode(name string) (n uint64, ok bool) {
	_, err := fs.Stat(t.fsys, fsName(name))
	return 0, err == nil
}

// group checks for cgroup.procs, which every group of v1 and v2 has and saved trees keep.
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

func (fsTree) release()                   {}
func (fsTree) exchanged(string) bool      { return false }
func (fsTree) sealed() bool               { return false }
func (fsTree) memory(bool) (int64, int64) { return 0, -1 }

func (t fsTree) read(name string, buf []byte, long bool) ([]byte, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return readFile(f, buf, long)
}

func (t fsTree) open(name string) (file, error) {
	f, err := t.fsys.Open(fsName(name))
	if err != nil {
		return nil, bare(err)
	}
	return &fsFile{fsys: t.fsys, name: fsName(name), f: f}, nil
}

// fsName converts a name for io/fs: no slash at either end, "." for the root.
func fsName(name string) string {
	if name = strings.Trim(name, "/"); name == "" {
		return "."
	}
	return name
}

// bare returns the error of a path error, without the path.
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
	text []byte // the content, if the file has no ReadAt
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

// errText describes an error in a few words.
func errText(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case isRefused(err):
		return "permission denied"
	}
	return err.Error()
}

func isRefused(err error) bool { return errors.Is(err, fs.ErrPermission) }

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
