// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// archive writes a cpio archive in the "newc" format, which the kernel unpacks as its first file
// system (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w    io.Writer
	n    int // bytes written
	ino  int
	dirs map[string]bool
	err  error
}

func newArchive(w io.Writer) *archive {
	return &archive{w: w, dirs: map[string]bool{".": true, "/": true}}
}

const (
	modeDir  = 0o040755
	modeFile = 0o100755
	modeLink = 0o120777
)

// entry writes a header, name and body: a magic number and 13 fields of eight hexadecimal digits,
// then the name (with a NUL) and the body, both padded to four bytes.
func (a *archive) entry(name string, mode int, body []byte) {
	a.ino++
	links := 1
	if mode == modeDir {
		links = 2
	}
	fields := [13]int{a.ino, mode, 0, 0, links, 0, len(body), 0, 0, 0, 0, len(name) + 1, 0}
	var head strings.Builder
	head.WriteString("070701")
	for _, f := range fields {
		fmt.Fprintf(&head, "%08X", f)
	}
	head.WriteString(name)
	head.WriteByte(0)
	a.write([]byte(head.String()))
	a.pad()
	a.write(body)
	a.pad()
}

func (a *archive) write(p []byte) {
	if a.err != nil {
		return
	}
	n, err := a.w.Write(p)
	a.n += n
	a.err = err
}

func (a *archive) pad() { a.write(make([]byte, (4-a.n%4)%4)) }

// dir adds the directory and its parents, each once.
func (a *archive) dir(name string) {
	if a.dirs[name] {
		return
	}
	a.dirs[name] = true
	a.dir(path.Dir(name))
	a.entry(name, modeDir, nil)
}

// file adds an executable file.
func (a *archive) file(name string, body []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	a.dir(path.Dir(name))
	a.entry(name, modeFile, body)
}

// tree adds a file of the host, or a directory with its contents.
func (a *archive) tree(name, host string) error {
	name = strings.TrimPrefix(path.Clean(name), "/")
	return filepath.WalkDir(host, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(host, p)
		if err != nil {
			return err
		}
		guest := path.Join(name, filepath.ToSlash(rel))
		switch {
		case d.IsDir():
			a.dir(guest)
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			a.dir(path.Dir(guest))
			a.entry(guest, modeLink, []byte(to))
		case d.Type().IsRegular():
			body, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			a.file(guest, body)
		default:
			return fmt.Errorf("%s: neither file, directory nor link", p)
		}
		return a.err
	})
}

// close writes the trailer.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}

// initrd writes the guest's first file system to w.
func initrd(w io.Writer, guest string, job []byte, jobFile string, files map[string]string) error {
	a := newArchive(w)
	for _, d := range []string{"proc", "sys", "dev", "tmp", "run"} {
		a.dir(d)
	}
	body, err := os.ReadFile(guest)
	if err != nil {
		return err
	}
	a.file("init", body)
	a.file(jobFile, job)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := a.tree(name, files[name]); err != nil {
			return fmt.Errorf("%s for the guest: %w", name, err)
		}
	}
	return a.close()
}
