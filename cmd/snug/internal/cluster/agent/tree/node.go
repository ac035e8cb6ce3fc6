// SPDX-License-Identifier: Apache-2.0

// Package tree reads a node's cgroups, and the files of its processes, as one file system.
package tree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Node is a file system to read limits in, for an agent whose own /sys/fs/cgroup is not the
// node's, and that has the node's elsewhere (a hostPath volume):
//
//	proc/...                   this machine's: a pod with hostPID sees the node's processes
//	proc/1/mountinfo           generated from sys/fs/cgroup
//	proc/PID/cgroup            as the node would show it
//	proc/PID/status            empty: it is read for the affinity, which each process has its own of
//	sys/...                    ROOT/sys/..., and nothing outside of it
//
// If the agent has its own cgroup namespace, views map its paths to those of the node.
type Node struct {
	root   *os.Root
	top    *os.File               // the same directory
	mounts []byte                 // the text of proc/1/mountinfo
	views  []view                 // none if the agent's cgroup namespace shows the paths of the node
	files  map[string]*sharedFile // open ones below sys, by name
}

const cgroupDir = "sys/fs/cgroup"

// Open opens a directory that contains a node's sys/fs/cgroup.
func Open(dir string) (*Node, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	top, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	n := &Node{root: root, top: top, files: map[string]*sharedFile{}}
	entries, err := fs.ReadDir(n, cgroupDir)
	if err != nil {
		n.Close()
		return nil, err
	}
	n.mounts = mountTable(entries, func(dir string) bool {
		_, err := root.Stat(path.Join(cgroupDir, dir, "cgroup.controllers"))
		return err == nil
	})
	tops := []string{cgroupDir}
	for _, e := range entries {
		if e.IsDir() {
			tops = append(tops, path.Join(cgroupDir, e.Name()))
		}
	}
	n.views = viewsOf(n, tops)
	return n, nil
}

// Namespaced returns this machine's tree, if a cgroup namespace other than the node's shows
// the node's groups; nil otherwise, because then no path needs mapping. In the node's own
// namespace the top of a container's tree may be the container's group, but every process
// still shows its path on the node.
func Namespaced() *Node {
	n, err := Open("/")
	if err != nil {
		return nil
	}
	if !slices.ContainsFunc(n.views, func(v view) bool { return v.outside() }) {
		n.Close()
		return nil
	}
	return n
}

// mountTable returns a mount table of the cgroup file systems below /sys/fs/cgroup: one of v2,
// or a directory for each hierarchy of v1, named by its controllers. unified reports whether
// a directory is a v2 hierarchy; "" is /sys/fs/cgroup itself.
func mountTable(entries []fs.DirEntry, unified func(dir string) bool) []byte {
	var b bytes.Buffer
	line := func(dir, kind, options string) {
		// See proc_pid_mountinfo(5).
		b.WriteString("1 1 0:1 / /" + path.Join(cgroupDir, dir) + " rw - " + kind + " cgroup rw" + options + "\n")
	}
	if unified("") {
		line("", "cgroup2", "")
		return b.Bytes()
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.ContainsAny(name, " \t\n\\"):
		case name == "cpuset": // it has no figure of a document, and where it is not used, all processes
		case e.IsDir() && unified(name):
			line(name, "cgroup2", "")
		case e.IsDir():
			line(name, "cgroup", ","+name)
		}
	}
	return b.Bytes()
}

// Close closes the directory. Open files stay open.
func (n *Node) Close() {
	n.root.Close()
	n.top.Close()
}

// Open opens a file of the tree.
func (n *Node) Open(name string) (fs.File, error) {
	rest, ok := strings.CutPrefix(name, "proc/")
	if !ok {
		return n.regular(name)
	}
	if rest == "1/mountinfo" {
		return &memFile{name: "mountinfo", Reader: bytes.NewReader(n.mounts)}, nil
	}
	pid, file, _ := strings.Cut(rest, "/")
	if file == "" {
		return os.Open("/proc/" + rest) // a directory, or read once
	}
	if file == "status" {
		return noStatus{}, nil
	}
	f, err := openProc("/proc/" + rest)
	if err != nil {
		return nil, err
	}
	own := (&sharedFile{on: n, name: file, file: f}).user()
	if _, bad := strconv.Atoi(pid); bad != nil || file != "cgroup" || len(n.views) == 0 {
		return own, nil
	}
	defer own.Close()
	text, err := io.ReadAll(io.LimitReader(own, 1<<20))
	if err != nil {
		return nil, err
	}
	return &memFile{name: "cgroup", Reader: strings.NewReader(inTree(string(text), n.views))}, nil
}

// errIrregular means that a file of the tree is not the kernel's. Opening a pipe could block
// forever.
var errIrregular = errors.New("not a regular file")

// regular opens a file or a directory below the root.
func (n *Node) regular(name string) (fs.File, error) {
	if f := n.files[name]; f != nil {
		return f.user(), nil
	}
	if f, err, ok := openBelow(n.top, name); ok {
		if err != nil {
			return nil, err
		}
		return n.share(&sharedFile{on: n, name: name, file: f}), nil
	}
	f, err := n.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.IsDir() {
		return f, nil
	}
	return n.share(&sharedFile{on: n, name: name, file: f}), nil
}

// memFile is a file in memory. It has no ReadAt, so a reader opens it again for new contents.
type memFile struct {
	name string
	io.Reader
}

func (m *memFile) Close() error               { return nil }
func (m *memFile) Stat() (fs.FileInfo, error) { return memInfo{m.name}, nil }

// noStatus is an empty file.
type noStatus struct{}

func (noStatus) Read([]byte) (int, error)          { return 0, io.EOF }
func (noStatus) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (noStatus) Close() error                      { return nil }
func (noStatus) Stat() (fs.FileInfo, error)        { return memInfo{"status"}, nil }

// Files returns the number of files that are open below sys.
func (n *Node) Files() int { return len(n.files) }

// Place returns the text of a process's /proc/PID/cgroup, as this process sees it, with the paths of the node.
func (n *Node) Place(text string) string { return inTree(text, n.views) }

// share keeps a file for more users than the one that it returns.
func (n *Node) share(f *sharedFile) *sharer {
	n.files[f.name] = f
	return f.user()
}

// sharedFile is a file of a node's tree that several groups may have open: the limits of a container
// are also those of the groups above it, which are the same for many. It is open once.
type sharedFile struct {
	on   *Node
	name string
	file interface {
		io.ReaderAt
		io.Closer
	}
	users int
}

// user returns one more user of the file.
func (f *sharedFile) user() *sharer {
	f.users++
	return &sharer{of: f}
}

// forget makes the next user open the file anew.
func (f *sharedFile) forget() {
	if f.on.files[f.name] == f {
		delete(f.on.files, f.name)
	}
}

// sharer is a user of a sharedFile.
type sharer struct {
	of  *sharedFile
	off int64 // of Read
}

// ReadAt returns io.EOF with fewer bytes than asked for, also where the kernel returns the rest
// at the next call.
func (s *sharer) ReadAt(b []byte, off int64) (n int, err error) {
	if s.of == nil {
		return 0, fs.ErrClosed
	}
	n, err = s.of.file.ReadAt(b, off)
	switch {
	case err != nil && err != io.EOF:
		s.of.forget() // its group was removed, and there may be another by that name
	case n < len(b):
		err = io.EOF
	default:
		err = nil
	}
	return n, err
}

func (s *sharer) Read(b []byte) (int, error) {
	n, err := s.ReadAt(b, s.off)
	if s.off += int64(n); n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (s *sharer) Stat() (fs.FileInfo, error) {
	if s.of == nil {
		return nil, fs.ErrClosed
	}
	return memInfo{s.of.name}, nil
}

// Close closes the file with its last user.
func (s *sharer) Close() error {
	f := s.of
	if f == nil {
		return fs.ErrClosed
	}
	s.of = nil
	if f.users--; f.users > 0 {
		return nil
	}
	f.forget()
	return f.file.Close()
}

type memInfo struct{ name string }

func (i memInfo) Name() string     { return i.name }
func (memInfo) Size() int64        { return 0 }
func (memInfo) Mode() fs.FileMode  { return 0o444 }
func (memInfo) ModTime() time.Time { return time.Time{} }
func (memInfo) IsDir() bool        { return false }
func (memInfo) Sys() any           { return nil }
