// SPDX-License-Identifier: Apache-2.0

package agent

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

// node is a tree to read limits in, for an agent whose own /sys/fs/cgroup is not the
// node's but that has the node's at a place of its own (a hostPath volume):
//
//	proc/...                   this machine's: a pod with hostPID sees the node's processes
//	proc/1/mountinfo           made up of what is in sys/fs/cgroup
//	proc/PID/cgroup            as the node would show it
//	sys/...                    ROOT/sys/..., and nothing outside of it
//
// Where the agent has a cgroup namespace of its own, views tell what the node calls groups.
type node struct {
	root   *os.Root
	mounts []byte // as proc/1/mountinfo
	views  []view // none where its groups are called as the own cgroup namespace calls them
}

const cgroupDir = "sys/fs/cgroup"

// openNode opens a directory that has a node's sys/fs/cgroup in it.
func openNode(dir string) (*node, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	n := &node{root: root}
	entries, err := fs.ReadDir(n, cgroupDir)
	if err != nil {
		root.Close()
		return nil, err
	}
	n.mounts = madeMounts(entries, func(dir string) bool {
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

// namespaced is this machine's tree where a cgroup namespace that is not the node's shows
// it all the same; nil elsewhere, where there is nothing to put right. In the node's own
// namespace a container's tree may have the container's group for its top, and every process
// still shows where in the node's it is.
func namespaced() *node {
	n, err := openNode("/")
	if err != nil {
		return nil
	}
	if !slices.ContainsFunc(n.views, func(v view) bool { return v.leaves() }) {
		n.close()
		return nil
	}
	return n
}

// madeMounts is a mount table for the cgroup file systems below /sys/fs/cgroup: one of v2,
// or a directory for each hierarchy of v1, named by its controllers. unified reports
// whether a directory has one of v2; "" is the one above all.
func madeMounts(entries []fs.DirEntry, unified func(dir string) bool) []byte {
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
		case e.IsDir() && unified(name):
			line(name, "cgroup2", "")
		case e.IsDir():
			line(name, "cgroup", ","+name)
		}
	}
	return b.Bytes()
}

func (n *node) close() { n.root.Close() }

// Open opens a file of the tree.
func (n *node) Open(name string) (fs.File, error) {
	rest, ok := strings.CutPrefix(name, "proc/")
	if !ok {
		return n.regular(name)
	}
	if rest == "1/mountinfo" {
		return &made{name: "mountinfo", Reader: bytes.NewReader(n.mounts)}, nil
	}
	f, err := os.Open("/proc/" + rest)
	pid, file, _ := strings.Cut(rest, "/")
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil || file != "cgroup" || len(n.views) == 0 {
		return f, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	return &made{name: "cgroup", Reader: strings.NewReader(inTree(string(text), n.views))}, nil
}

// errIrregular says that a file of the tree is none of the kernel's: whoever opens a pipe
// waits for another end.
var errIrregular = errors.New("no regular file")

// regular opens a file or a directory below the root.
func (n *node) regular(name string) (fs.File, error) {
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
	return f, nil
}

// made is a file that is none. It can be read once; who wants what it says now opens it
// again, since it has no ReadAt.
type made struct {
	name string
	io.Reader
}

func (m *made) Close() error               { return nil }
func (m *made) Stat() (fs.FileInfo, error) { return madeInfo{m.name}, nil }

type madeInfo struct{ name string }

func (i madeInfo) Name() string     { return i.name }
func (madeInfo) Size() int64        { return 0 }
func (madeInfo) Mode() fs.FileMode  { return 0o444 }
func (madeInfo) ModTime() time.Time { return time.Time{} }
func (madeInfo) IsDir() bool        { return false }
func (madeInfo) Sys() any           { return nil }
