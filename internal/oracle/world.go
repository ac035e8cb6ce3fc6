// SPDX-License-Identifier: Apache-2.0

// Package oracle computes what a process can see of its limits without reading a file. It makes a
// world of cgroup hierarchies and mounts, renders it as the kernel would, and derives from the world
// itself the tightest visible limit and what is hidden. Tests compare it with package limits, with
// which it shares no code: it imports nothing of snug, and is simple rather than fast. Tests only.
//
//	w := oracle.Build(oracle.Random(seed))
//	w.Entries() // the contents of a saved tree
//	w.Truth()   // the right answer for it
package oracle

import (
	"errors"
	"io/fs"
	"strings"
)

// A World is the kernel's state: file systems, mounts, and the groups of one process.
type World struct {
	Hierarchies []*Tree
	Mounts      []*Mount // in the order of the mount table; the first one is the process's root
	Process     Process
	Inodes      bool // the observer can compare inode numbers, which a saved tree does not contain
	OldKernel   bool // the mount table marks removed groups: before 4.6
	Real        Kernel

	trees int // number of file systems, for their device numbers
}

// A Kernel makes the changes of a world for real. Groups exist before the first mount.
type Kernel interface {
	Mount(w *World, at string, m *Mount)
	Unmount(at string, all bool)
	Move(from, to string)
	Remove(w *World, d *Dir)
	Make(w *World, d *Dir)
}

// A Process is the one whose limits are read.
type Process struct {
	Pid       int    // in the observer's PID namespace
	Other     bool   // it is looked up by its PID, and is not the observer
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
	Enabled     int      // the depth down to which v2's groups have their controllers' files
	Flat        int      // v1: groups above this depth have memory.use_hierarchy 0
	Threaded    bool     // the own group is threaded
	Own         *Dir     // the process's group
	NS          *Dir     // the root of the observer's cgroup namespace
}

// A Dir is a directory; in a hierarchy it is a group.
type Dir struct {
	Name   string
	Up     *Dir
	Kids   []*Dir
	Files  map[string]string // files added to it, without a group's own files
	Denied bool              // it cannot be entered or listed
	Gone   bool              // it was removed
	Inode  uint64
	Tree   *Tree

	Quota           Quota
	Max, High       Size             // memory.max and memory.high; Max is v1's limit too
	Fails           map[string]error // files of the group that cannot be read
	inodesHandedOut uint64           // of a root, for its tree
}

// A Mount shows a directory of a tree and everything below it.
type Mount struct {
	N    int // its number among all mounts ever made
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

// make returns the directory at a path below this one, and creates missing ones.
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

// find returns the directory at a path below this one, or nil.
func (d *Dir) find(path string) *Dir {
	for _, name := range parts(path) {
		if d = d.kid(name); d == nil {
			return nil
		}
	}
	return d
}

// parts returns the names in a path.
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

// below returns the path of d from its ancestor top: "" for top itself.
func (d *Dir) below(top *Dir) string {
	path := ""
	for ; d != top; d = d.Up {
		path = "/" + d.Name + path
	}
	return path
}

// Below returns the path of d in its tree: "" for the root.
func (d *Dir) Below() string {
	top := d
	for top.Up != nil {
		top = top.Up
	}
	return d.below(top)
}

// depth returns the number of directories above d in its tree.
func (d *Dir) depth() int {
	n := 0
	for ; d.Up != nil; d = d.Up {
		n++
	}
	return n
}

// shown returns the path of a group in the cgroup namespace with the root ns
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

// point returns a mount's mount point, as in the mount table.
func (m *Mount) point() string {
	if m.On == nil {
		return "/"
	}
	return strings.TrimSuffix(m.On.point(), "/") + m.At.below(m.On.Root)
}

// on returns the mount right on a directory of a mount.
func (w *World) on(m *Mount, d *Dir) *Mount {
	for _, c := range w.Mounts {
		if c.On == m && c.At == d {
			return c
		}
	}
	return nil
}

// cross goes from a directory of a mount to the mount over it.
func (w *World) cross(m *Mount, d *Dir) (*Mount, *Dir) {
	for c := w.on(m, d); c != nil; c = w.on(m, d) {
		m, d = c, c.Root
	}
	return m, d
}

// follow follows a path from the process's root (path_resolution(7)); step looks up a name in a
// directory. A mount over the root itself is not crossed, because a process keeps the root it
// started with.
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

// Walk returns the directory that a path leads the process to, and the mount that shows it.
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

// errNoPlace: a step of a world does not apply at this place.
var errNoPlace = errors.New("no such place")

// place returns what a path leads to when a world is set up: root may access everything, and in a
// file system of files missing directories are created.
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

// top returns the mount at a path, regardless of permissions.
func (w *World) top(path string) *Mount {
	m, _, _ := w.follow(path, func(d *Dir, name string) (*Dir, error) {
		if d = d.kid(name); d == nil {
			return nil, errNoPlace
		}
		return d, nil
	})
	return m
}

// mount mounts a directory at a path. It returns nil if that is not possible.
func (w *World) mount(path string, root *Dir) *Mount {
	on, at, err := w.place(path)
	if err != nil || root == nil || root.Tree.Type == "sysfs" && at.Tree.Type == "sysfs" && at.Up == nil {
		return nil // a file system cannot be mounted right on itself: EBUSY, mount(2)
	}
	m := &Mount{On: on, At: at, Tree: root.Tree, Root: root}
	if w.Real != nil {
		w.Real.Mount(w, path, m)
	}
	w.Mounts = append(w.Mounts, m)
	return m
}

// nth returns a mount by its number.
func (w *World) nth(n int) *Mount {
	for _, m := range w.Mounts {
		if m.N == n {
			return m
		}
	}
	return nil
}

// within reports whether a mount is top or mounted somewhere on it.
func (m *Mount) within(top *Mount) bool {
	for ; m != nil; m = m.On {
		if m == top {
			return true
		}
	}
	return false
}

// unmount undoes a mount and, if all is set, all mounts on it.
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

// move moves a mount, with those on it, to another place. The table keeps its order.
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

// all calls f for every directory that can be reached from the root, with its path.
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
