// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"io/fs"
	"maps"
	"slices"
	"syscall"
)

// Mount points, besides directories inside mounted file systems.
var points = []string{"/sys/fs/cgroup", "/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory",
	"/sys/fs/cgroup/unified",
	"/mnt", "/mnt/c g", "/mnt/cgroup", "/host/sys/fs/cgroup", "/run/cg", "/srv/a/cgroup", "/sys"}

// next returns the number and the ID of the next mount.
func (m *maker) next() (n, id int) {
	m.made++
	return m.made, m.ids[m.made%len(m.ids)] + 2
}

// mountUsual mounts a hierarchy where most programs expect it.
func (m *maker) mountUsual(i int) {
	t := m.w.Hierarchies[i]
	at := "/sys/fs/cgroup"
	if t.Type != "cgroup2" {
		at += "/" + pick(m.Rand, t.Controllers...)
	} else if len(m.w.Hierarchies) > 1 {
		at += "/unified"
	}
	m.mount(i, pick(m.Rand, t.Root, t.NS, t.NS, t.Own), at)
}

// mountGroup mounts some hierarchy, mostly whole or at a group of the process.
func (m *maker) mountGroup() {
	i := m.IntN(len(m.w.Hierarchies))
	t := m.w.Hierarchies[i]
	root := t.Root
	switch m.IntN(8) {
	case 0, 1, 2:
		root = t.NS
	case 3:
		root = t.Own
	case 4: // some ancestor of the own group
		for d := t.Own; d != nil; d = d.Up {
			if m.one(2) {
				root = d
			}
		}
	case 5:
		t.Root.each(func(_ string, d *Dir) {
			if m.one(4) {
				root = d
			}
		})
	}
	m.mount(i, root, m.point())
}

func (m *maker) mount(i int, root *Dir, at string) {
	path := root.below(m.w.Hierarchies[i].Root)
	n, id := m.next()
	m.step(func(w *World) {
		if made := w.mount(at, w.tree(i).find(path)); made != nil {
			made.N, made.ID = n, id
		}
	}, "mount %d: hierarchy %d, %q, at %q", n, i, path, at)
}

// point returns a place to mount something at.
func (m *maker) point() string {
	if m.one(3) {
		return m.inside()
	}
	return pick(m.Rand, points...)
}

// inside returns a reachable directory other than the root and proc.
func (m *maker) inside() string {
	list := m.reachable()
	if len(list) == 0 {
		return "/mnt"
	}
	return pick(m.Rand, list...)
}

func (m *maker) reachable() (list []string) {
	m.w.all(func(path string, _ *Mount, _ *Dir) {
		if path != "" {
			list = append(list, path)
		}
	})
	return list
}

// cover mounts something else.
func (m *maker) cover(kind, at string) {
	n, id := m.next()
	m.step(func(w *World) {
		t := w.newTree(kind)
		if kind == "sysfs" {
			t.Root.make("/fs/cgroup")
		}
		if made := w.mount(at, t.Root); made != nil {
			made.N, made.ID = n, id
		}
	}, "mount %d: %s at %q", n, kind, at)
}

// imitate mounts a file system that has the directories of what it covers, and may have files of
// the same names: a copy of it.
func (m *maker) imitate(at string) {
	n, id := m.next()
	files := m.one(2)
	m.step(func(w *World) {
		on, top, err := w.place(at)
		if err != nil {
			return
		}
		t := w.newTree("tmpfs")
		var copyDir func(to *Dir, m *Mount, d *Dir)
		copyDir = func(to *Dir, m *Mount, d *Dir) {
			if files && d.Tree.Own != nil {
				to.Files = map[string]string{"cgroup.procs": "42\n", "cpu.max": "1000 100000\n", "memory.max": "1048576\n",
					"memory.high":      "max\n",
					"cpu.cfs_quota_us": "1000\n", "cpu.cfs_period_us": "100000\n", "memory.limit_in_bytes": "1048576\n"}
			}
			for _, k := range d.Kids {
				at, kid := w.cross(m, k)
				copyDir(to.make(k.Name), at, kid)
			}
		}
		copyDir(t.Root, on, top)
		if made := w.mount(at, t.Root); made != nil {
			made.N, made.ID = n, id
		}
	}, "mount %d: an imitation at %q, with files %v", n, at, files)
}

// change changes an existing mount or group.
func (m *maker) change() {
	switch at := m.IntN(max(1, m.made)) + 1; m.IntN(10) {
	case 0, 1:
		m.cover(pick(m.Rand, "tmpfs", "tmpfs", "sysfs"), m.point())
	case 2, 3:
		m.imitate(m.point())
	case 4: // the same place again, or above a mount
		if mount := m.w.nth(at); mount != nil && mount.On != nil {
			up := parts(mount.point())
			m.imitate(cut(up, max(1, len(up)-m.IntN(3))))
		}
	case 5, 6:
		all := m.one(2)
		m.step(func(w *World) { w.unmount(w.nth(at), all) }, "unmount %d, with what is on it %v", at, all)
	case 7:
		to := m.point()
		m.step(func(w *World) { w.move(w.nth(at), to) }, "move mount %d to %q", at, to)
	case 8:
		m.mountGroup()
	case 9:
		if m.one(3) {
			m.remove()
		}
	}
}

// remove removes a group, which may be created again; mounts of the old one stay.
func (m *maker) remove() {
	i := m.IntN(len(m.w.Hierarchies))
	t := m.w.Hierarchies[i]
	var list []string
	t.Root.each(func(path string, d *Dir) {
		if d.Up != nil && !t.Own.under(d) && !t.NS.under(d) {
			list = append(list, path)
		}
	})
	if d := t.Own; d.Up != nil && m.one(2) && !m.real {
		list = append(list, d.below(t.Root))
	}
	if len(list) == 0 {
		return
	}
	path, again := pick(m.Rand, list...), m.one(2)
	m.step(func(w *World) {
		if i >= len(w.Hierarchies) {
			return
		}
		t := w.Hierarchies[i]
		d := t.Root.find(path)
		if d == nil || d.Up == nil || d.Up.kid(d.Name+" (deleted)") != nil || t.NS.under(d) || t.Own.under(d) && t.Own != d {
			return
		}
		w.remove(d)
		if again { // the same again, with other limits
			made := t.Root.make(path)
			made.Quota, made.Max = QuotaOf(70000, 100000), SizeOf(200<<20)
			if t.Own == d {
				t.Own = made
			}
			if w.Real != nil {
				w.Real.Make(w, made)
			}
		}
	}, "remove group %d:%q, and make it again %v", i, path, again)
}

// remove removes a group and its descendants from its tree. Mounts on them are unmounted, and
// mounts that show them become empty.
func (w *World) remove(d *Dir) {
	if w.Real != nil {
		w.Real.Remove(w, d)
	}
	d.Up.Kids = slices.DeleteFunc(d.Up.Kids, func(k *Dir) bool { return k == d })
	d.each(func(_ string, d *Dir) { d.Gone, d.Kids = true, nil })
	w.Mounts = slices.DeleteFunc(w.Mounts, func(m *Mount) bool {
		for ; m.On != nil; m = m.On {
			if m.At.Gone {
				return true
			}
		}
		return false
	})
}

// deny makes some directory inaccessible.
func (m *maker) deny() {
	at := m.inside()
	m.step(func(w *World) {
		w.all(func(path string, _ *Mount, d *Dir) {
			if path == at {
				d.Denied = true
			}
		})
	}, "deny %q", at)
}

// fault makes some file of a group unreadable or missing.
func (m *maker) fault() {
	i := m.IntN(len(m.w.Hierarchies))
	var list []string
	t := m.w.Hierarchies[i]
	t.Root.each(func(path string, d *Dir) {
		if t.Own.under(d) || m.one(4) {
			list = append(list, path)
		}
	})
	path, name := pick(m.Rand, list...), pick(m.Rand, groupFiles[1:8]...)
	err := pick[error](m.Rand, fs.ErrPermission, syscall.EIO, syscall.EOPNOTSUPP, fs.ErrNotExist)
	m.step(func(w *World) {
		if d := w.tree(i).find(path); d != nil {
			d.Fails = maps.Clone(d.Fails)
			if d.Fails == nil {
				d.Fails = map[string]error{}
			}
			d.Fails[name] = err
		}
	}, "%s of group %d:%q: %v", name, i, path, err)
}
