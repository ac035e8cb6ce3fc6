// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
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
// With cgroup v2 a container mostly has a cgroup namespace of its own. In it the kernel
// shows other groups by their way from the container's: "/../../kubepods.slice/...". Where
// the container's group is in the node's tree is found by its inode, which is the same
// wherever it is seen. See cgroup_namespaces(7).
type node struct {
	root   *os.Root
	mounts []byte // as proc/1/mountinfo
	above  string // the group at the root of the own namespace, in the node's tree; "/" = they are the same
}

const cgroupDir = "sys/fs/cgroup"

// openNode opens a directory that has a node's sys/fs/cgroup in it.
func openNode(dir string) (*node, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	n := &node{root: root, above: "/"}
	entries, err := fs.ReadDir(root.FS(), cgroupDir)
	if err != nil {
		root.Close()
		return nil, err
	}
	n.mounts = madeMounts(entries, func(dir string) bool {
		_, err := root.Stat(path.Join(cgroupDir, dir, "cgroup.controllers"))
		return err == nil
	})
	if own, err := os.Stat("/" + cgroupDir); err == nil {
		n.above = findGroup(root.FS(), own)
	}
	return n, nil
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

// mostGroups are looked at to find one.
const mostGroups = 100_000

// findGroup is where in a node's tree the directory is that this process sees at
// /sys/fs/cgroup; "/" also where it is not found. Only v2 needs it.
func findGroup(tree fs.FS, own fs.FileInfo) string {
	top, err := fs.Stat(tree, cgroupDir)
	if err != nil || os.SameFile(top, own) {
		return "/"
	}
	found, seen := "/", 0
	_ = fs.WalkDir(tree, cgroupDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups come and go
		}
		if seen++; seen > mostGroups {
			return fs.SkipAll
		}
		if info, err := fs.Stat(tree, name); err == nil && os.SameFile(info, own) {
			found = strings.TrimPrefix(name, cgroupDir)
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func (n *node) close() { n.root.Close() }

// Open opens a file of the tree.
func (n *node) Open(name string) (fs.File, error) {
	rest, ok := strings.CutPrefix(name, "proc/")
	if !ok {
		return n.root.FS().Open(name)
	}
	if rest == "1/mountinfo" {
		return &made{name: "mountinfo", Reader: bytes.NewReader(n.mounts)}, nil
	}
	f, err := os.Open("/proc/" + rest)
	pid, file, _ := strings.Cut(rest, "/")
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil || file != "cgroup" || n.above == "/" {
		return f, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	return &made{name: "cgroup", Reader: bytes.NewReader(fromAbove(text, n.above))}, nil
}

// fromAbove rewrites the text of a /proc/PID/cgroup, as a namespace shows it whose root
// is the group above, to what the node would show. Lines of v1 stay: container runtimes
// make no namespaces there.
func fromAbove(text []byte, above string) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		way, ok := bytes.CutPrefix(line, []byte("0::"))
		if !ok {
			b.Write(line)
			continue
		}
		b.WriteString("0::" + path.Join(above, strings.TrimSuffix(string(way), "\n")) + "\n")
	}
	return b.Bytes()
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
