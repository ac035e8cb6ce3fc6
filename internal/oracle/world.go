// SPDX-License-Identifier: Apache-2.0

// Package oracle knows what a process can see of its limits, without reading a file: it
// makes a world of cgroup hierarchies and mounts, shows it as the kernel would, and says
// from the world itself what the tightest visible limit is and what is hidden. It is to
// be compared with package limits, and shares no code with it: it imports nothing of snug,
// and is as simple as it can be, not as fast. Tests only.
//
//	w := oracle.Build(oracle.Random(seed))
//	w.Entries() // what a saved tree holds
//	w.Truth()   // what is right there
package oracle

import (
	"errors"
	"io/fs"
	"strings"
)

// A World is what the kernel has: file systems, mounts, and where one process is.
type World struct {
	Hierarchies []*Tree
	Mounts      []*Mount // as the mount table lists them; the first one is the process's root
	Process     Process
	Inodes      bool // whoever looks can compare inode numbers, which a saved tree does not hold
	OldKernel   bool // the mount table says of a removed group that it was: before 4.6
	Real        Kernel

	trees int // how many file systems there are, for their device numbers
}

// A Kernel does for real what a world does. Groups are there from the first mount on.
type Kernel interface {
	Mount(w *World, at string, m *Mount)
	Unmount(at string, all bool)
	Move(from, to string)
	Remove(w *World, d *Dir)
	Make(w *World, d *Dir)
}

// A Process is the one whose limits are asked for.
type Process struct {
	Pid       int    // in the PID namespace of whoever looks
	Other     bool   // it is asked for by its number, and not the one that looks
	Table     string // the file that holds the mount table, below proc
	NoCgroup  error  // why /proc/PID/cgroup cannot be read
	NoTable   error  // why the mount table cannot be read
	Nameless  bool   // /proc/PID/status has no Pid line
	Raced     bool   // its group was removed after /proc/PID/cgroup was read
	Memory    int64  // of the machine, in KiB; 0: /proc/meminfo does not say
	Elsewhere bool   // cgroup.procs shows it as 0: it is in another PID namespace
}

// A Tree is a file system. One with Own is a cgroup hierarchy.
type Tree struct {
	Type        string // as the mount table names it: "cgroup2", "cgroup", "tmpfs", ...
	Root        *Dir
	Minor       int      // of its device number
	Controllers []string // of a v1 hierarchy, or those that v2 has
	Named       string   // of a v1 hierarchy without controllers
	Enabled     int      // down to which depth v2's groups have their controllers' files
	Flat        int      // v1: groups above this depth have memory.use_hierarchy 0
	Threaded    bool     // the own group is a threaded one
	Own         *Dir     // the process's group
	NS          *Dir     // the root of the cgroup namespace of whoever looks
}

// A Dir is a directory, in a hierarchy a group.
type Dir struct {
	Name   string
	Up     *Dir
	Kids   []*Dir
	Files  map[string]string // what was put there; a group's own files are not in it
	Denied bool              // it may not be entered or listed
	Gone   bool              // it was removed
	Inode  uint64
	Tree   *Tree

	Quota           Quota
	Max, High       Size             // memory.max and memory.high; Max is v1's limit too
	Fails           map[string]error // files of the group that cannot be read
	inodesHandedOut uint64           // of a root, for its tree
}

// A Mount shows a directory of a tree and what is below it.
type Mount struct {
	N    int // its number among all that were made
	ID   int
	On   *Mount // nil: it is the process's root
	At   *Dir   // of On
	Tree *Tree
	Root *Dir
}

func (w *World) newTree(kind string) *Tree {
	w.trees++
	t := &Tree{Type: kind, Minor: 20 + w.trees}
	t.Root = &Dir{Tree: t, Inode: 1, inodesHandedOut: 1}
	return t
}

// make is the directory of a path below this one, made where it is missing.
func (d *Dir) make(path string) *Dir {
	for _, name := range parts(path) {
		k := d.kid(name)
		if k == nil {
			root := d.Tree.Root
			root.inodesHandedOut++
			k = &Dir{Name: name, Up: d, Tree: d.Tree, Inode: root.inodesHandedOut}
			d.Kids = append(d.Kids, k)
		}
		d = k
	}
	return d
}

func (d *Dir) kid(name string) *Dir {
	for _, k := range d.Kids {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// find is the directory of a path below this one, nil when there is none.
func (d *Dir) find(path string) *Dir {
	for _, name := range parts(path) {
		if d = d.kid(name); d == nil {
			return nil
		}
	}
	return d
}

// parts are the names in a path.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// under reports whether d is top or below it.
func (d *Dir) under(top *Dir) bool {
	for ; d != nil; d = d.Up {
		if d == top {
			return true
		}
	}
	return false
}

// below is the path of d from top, which it is under: "" for top itself.
func (d *Dir) below(top *Dir) string {
	path := ""
	for ; d != top; d = d.Up {
		path = "/" + d.Name + path
	}
	return path
}

// Below is the path of d in its tree: "" for the root.
func (d *Dir) Below() string {
	top := d
	for top.Up != nil {
		top = top.Up
	}
	return d.below(top)
}

// depth is how many directories are above d in its tree.
func (d *Dir) depth() int {
	n := 0
	for ; d.Up != nil; d = d.Up {
		n++
	}
	return n
}

// shown is the path of a group as the cgroup namespace with the root ns has it
// (cgroup_namespaces(7); the kernel's kernfs_path_from_node).
func (d *Dir) shown(ns *Dir) string {
	up := ""
	for !d.under(ns) {
		up, ns = up+"/..", ns.Up
	}
	if path := up + d.below(ns); path != "" {
		return path
	}
	return "/"
}

// point is where a mount is, as the mount table says it.
func (m *Mount) point() string {
	if m.On == nil {
		return "/"
	}
	return strings.TrimSuffix(m.On.point(), "/") + m.At.below(m.On.Root)
}

// on is the mount that is mounted right on a directory of a mount.
func (w *World) on(m *Mount, d *Dir) *Mount {
	for _, c := range w.Mounts {
		if c.On == m && c.At == d {
			return c
		}
	}
	return nil
}

// cross goes from a directory of a mount to what is mounted over it.
func (w *World) cross(m *Mount, d *Dir) (*Mount, *Dir) {
	for c := w.on(m, d); c != nil; c = w.on(m, d) {
		m, d = c, c.Root
	}
	return m, d
}

// follow goes along a path from the process's root (path_resolution(7)); step is the
// directory of a name in another one. What is mounted over the root itself is not
// crossed: a process starts from the root that it has.
func (w *World) follow(path string, step func(d *Dir, name string) (*Dir, error)) (*Mount, *Dir, error) {
	m := w.Mounts[0]
	d := m.Root
	for _, name := range parts(path) {
		k, err := step(d, name)
		if err != nil {
			return nil, nil, err
		}
		m, d = w.cross(m, k)
	}
	return m, d, nil
}

// Walk is the directory that a path leads the process to, and the mount that shows it.
func (w *World) Walk(path string) (*Mount, *Dir, error) {
	return w.follow(path, func(d *Dir, name string) (*Dir, error) {
		if d.Denied {
			return nil, fs.ErrPermission
		}
		if d = d.kid(name); d == nil {
			return nil, fs.ErrNotExist
		}
		return d, nil
	})
}

// errNoPlace: a step of a world cannot be taken there.
var errNoPlace = errors.New("no such place")

// place is what a path leads to for whoever sets the world up: nothing is denied to
// root, and in a file system of files directories are made.
func (w *World) place(path string) (*Mount, *Dir, error) {
	return w.follow(path, func(d *Dir, name string) (*Dir, error) {
		if k := d.kid(name); k != nil {
			return k, nil
		}
		if d.Tree.Own != nil || d.Tree.Type == "sysfs" {
			return nil, errNoPlace
		}
		return d.make(name), nil
	})
}

// top is the mount that is found at a path, whoever may go there.
func (w *World) top(path string) *Mount {
	m, _, _ := w.follow(path, func(d *Dir, name string) (*Dir, error) {
		if d = d.kid(name); d == nil {
			return nil, errNoPlace
		}
		return d, nil
	})
	return m
}

// mount mounts a directory at a path. It is nil where that cannot be done.
func (w *World) mount(path string, root *Dir) *Mount {
	on, at, err := w.place(path)
	if err != nil || root == nil || root.Tree.Type == "sysfs" && at.Tree.Type == "sysfs" && at.Up == nil {
		return nil // a file system is not mounted right on itself: EBUSY, mount(2)
	}
	m := &Mount{On: on, At: at, Tree: root.Tree, Root: root}
	if w.Real != nil {
		w.Real.Mount(w, path, m)
	}
	w.Mounts = append(w.Mounts, m)
	return m
}

// nth is a mount by its number.
func (w *World) nth(n int) *Mount {
	for _, m := range w.Mounts {
		if m.N == n {
			return m
		}
	}
	return nil
}

// within reports whether a mount is another one or mounted somewhere on it.
func (m *Mount) within(top *Mount) bool {
	for ; m != nil; m = m.On {
		if m == top {
			return true
		}
	}
	return false
}

// unmount undoes a mount, and with all those upon it.
func (w *World) unmount(m *Mount, all bool) {
	if m == nil || m == w.Mounts[0] || w.top(m.point()) != m {
		return
	}
	var left []*Mount
	for _, c := range w.Mounts {
		if !c.within(m) {
			left = append(left, c)
		}
	}
	if !all && len(left) < len(w.Mounts)-1 {
		return
	}
	if w.Real != nil {
		w.Real.Unmount(m.point(), all)
	}
	w.Mounts = left
}

// move moves a mount, with those upon it, to another place. The table keeps its order.
func (w *World) move(m *Mount, path string) {
	if m == nil || m == w.Mounts[0] || w.top(m.point()) != m {
		return
	}
	on, at, err := w.place(path)
	if err != nil || on.within(m) {
		return
	}
	if w.Real != nil {
		w.Real.Move(m.point(), path)
	}
	m.On, m.At = on, at
}

// all are the directories that can be reached from the root, with their paths.
func (w *World) all(f func(path string, m *Mount, d *Dir)) {
	var visit func(path string, m *Mount, d *Dir)
	visit = func(path string, m *Mount, d *Dir) {
		f(path, m, d)
		for _, k := range d.Kids {
			at, kid := w.cross(m, k)
			visit(path+"/"+k.Name, at, kid)
		}
	}
	visit("", w.Mounts[0], w.Mounts[0].Root)
}
