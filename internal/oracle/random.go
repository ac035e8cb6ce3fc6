// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
)

// A Step makes a world a little more realistic. A step that no longer applies changes nothing, so
// a list of steps can be shortened.
type Step struct {
	Text string
	do   func(w *World)
}

// Build takes the steps, starting from a machine with only a root directory.
func Build(steps []Step) *World { return BuildOn(nil, steps) }

// BuildOn is Build on a real kernel.
func BuildOn(k Kernel, steps []Step) *World {
	w := &World{Process: Process{Pid: 42, Table: "self/mountinfo", Memory: 16384000}, Real: k}
	root := w.newTree("ext4")
	w.Mounts = []*Mount{{ID: 1, Tree: root, Root: root.Root}}
	for _, s := range steps {
		s.do(w)
	}
	return w
}

// Shrink removes the steps that a world does not need to be wrong.
func Shrink(steps []Step, wrong func(w *World) bool) []Step {
	for size := len(steps) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(steps); {
			try := append(append([]Step{}, steps[:at]...), steps[at+size:]...)
			if wrong(Build(try)) {
				steps, shorter = try, true
			} else {
				at += size
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return steps
}

// maker draws a world step by step. Each step is taken at once, so that the next one can choose from
// what exists.
type maker struct {
	*rand.Rand
	w     *World
	steps []Step
	ids   []int // of mounts, unordered: the kernel reuses free ones
	made  int   // mounts
	odd   bool  // limit files contain texts that no kernel prints
	real  bool  // a real kernel must support it
}

// Random returns the steps of one world per seed.
func Random(seed uint64) []Step {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0)), w: Build(nil)}
	m.ids = m.Perm(200)
	m.odd = m.one(8)
	m.hierarchies()
	for i := range m.w.Hierarchies {
		m.groups(i)
	}
	m.machine()
	m.mounts()
	for m.one(5) {
		m.deny()
	}
	for m.one(6) {
		m.fault()
	}
	return m.steps
}

// RandomReal returns a world that a kernel with these v1 hierarchies supports, and in which a
// process can live.
func RandomReal(seed uint64, v1 ...[]string) []Step {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), w: Build(nil), real: true}
	m.ids = m.Perm(200)
	own, space := m.path(m.IntN(5)), m.IntN(6)
	for _, list := range v1 {
		m.hierarchy(&Tree{Type: "cgroup", Controllers: list}, own, space)
	}
	for i := range m.w.Hierarchies {
		m.groups(i)
	}
	m.mounts()
	return m.steps
}

// Later returns changes during the observation of a world: limits change, and the process may move
// to another group.
func Later(seed uint64, steps []Step) []Step {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 2)), w: Build(steps)}
	for i, t := range m.w.Hierarchies {
		m.groups(i)
		if m.one(2) {
			continue
		}
		var list []string
		t.Root.each(func(path string, _ *Dir) { list = append(list, path) })
		to := pick(m.Rand, list...)
		m.step(func(w *World) {
			if d := w.tree(i).find(to); d != nil && d.Tree.Own != nil {
				d.Tree.Own = d
			}
		}, "the process goes to %d:%q", i, to)
	}
	return m.steps
}

// mounts mounts, covers, moves and unmounts.
func (m *maker) mounts() {
	if m.one(2) {
		m.cover("sysfs", "/sys")
	}
	if len(m.w.Hierarchies) > 1 {
		m.cover("tmpfs", "/sys/fs/cgroup") // to create directories in
	}
	for i, t := range m.w.Hierarchies {
		if (t.has("cpu") || t.has("memory")) && !m.one(8) {
			m.mountUsual(i)
		}
	}
	for range pick(m.Rand, 0, 1, 1, 2, 3, 4) {
		m.mountGroup()
		for m.one(4) {
			m.change()
		}
	}
	if m.one(3) {
		m.change()
	}
}

// one returns true one time in n.
func (m *maker) one(n int) bool { return m.IntN(n) == 0 }

func (m *maker) step(do func(w *World), format string, args ...any) {
	m.steps = append(m.steps, Step{fmt.Sprintf(format, args...), do})
	do(m.w)
}

// names of groups: those of systemd, container engines and people, and ones that are hard to parse.
var names = []string{"a", "b", "ab", "kubepods.slice", "pod1", "c-1.scope", "x y", "co:lon", `a\040b`, `\134`, "..x",
	"...", "a (deleted)", "ünï", "0", "a,b", "tab\tbed"}

func (m *maker) name() string { return pick(m.Rand, names...) }

func (m *maker) path(depth int) string {
	path := ""
	for range depth {
		path += "/" + m.name()
	}
	return path
}

// hierarchies creates the kernel's trees, and the process's group in each.
func (m *maker) hierarchies() {
	v2, v1 := []string{"cpu", "memory"}, [][]string{}
	switch m.IntN(8) {
	case 0, 1, 2:
	case 3: // v1 alone
		v2, v1 = []string{}, [][]string{{"cpu", "cpuacct"}, {"memory"}, {}}
	case 4:
		v2, v1 = []string{}, [][]string{{"cpu"}, {"cpuacct"}, {"memory"}, {}, {"cpuset"}}
	case 5:
		v2, v1 = []string{"memory"}, [][]string{{"cpu", "cpuacct"}}
	case 6:
		v2, v1 = []string{"cpu"}, [][]string{{"memory"}, {}}
	case 7: // mounted together; the memory controller may be off
		v2, v1 = []string{}, [][]string{{"cpu", "memory"}}
		if m.one(2) {
			v1 = [][]string{{"cpu", "cpuacct"}}
		}
	}
	own, space := m.path(m.IntN(5)), m.IntN(6)
	if len(v2) > 0 || m.one(2) {
		m.hierarchy(&Tree{Type: "cgroup2", Controllers: v2, Enabled: pick(m.Rand, 9, 9, 9, 0, 1, 2), Threaded: m.one(12)},
			own, space)
	}
	for _, list := range v1 {
		t := &Tree{Type: "cgroup", Controllers: list}
		if len(list) == 0 {
			t.Named = pick(m.Rand, "systemd", "cpu", "memory")
		}
		if m.one(4) {
			t.Flat = m.IntN(4)
		}
		if m.one(4) {
			own = m.path(m.IntN(4))
		}
		m.hierarchy(t, own, space)
	}
}

// hierarchy creates one tree with the own group in it, and the namespace's root: the tree's root,
// the own group, or another group.
func (m *maker) hierarchy(t *Tree, own string, space int) {
	list := parts(own)
	ns := ""
	switch space {
	case 0, 1:
		ns = own
	case 2:
		ns = cut(list, m.IntN(len(list)+1))
	case 3: // the process was moved out of it
		ns = cut(list, m.IntN(len(list)+1)) + "/" + m.name()
	}
	shape := *t
	m.step(func(w *World) {
		t := w.newTree(shape.Type)
		minor, root := t.Minor, t.Root
		*t = shape
		t.Minor, t.Root, root.Tree = minor, root, t
		t.Own, t.NS = t.Root.make(own), t.Root.make(ns)
		w.Hierarchies = append(w.Hierarchies, t)
	}, "hierarchy %s %q: the process in %q, the namespace's root %q; files down to depth %d, flat above %d, threaded %v",
		t.Type+t.Named, t.Controllers, own, ns, t.Enabled, t.Flat, t.Threaded)
}

// cut returns the path of the first n names.
func cut(list []string, n int) string {
	return strings.TrimSuffix("/"+strings.Join(list[:n], "/"), "/")
}

// groups adds groups beside the process's own, some with the same names, and gives all of them
// limits.
func (m *maker) groups(i int) {
	t := m.w.Hierarchies[i]
	own := parts(t.Own.below(t.Root))
	for m.one(2) {
		at := cut(own, m.IntN(len(own)+1)) + "/" + m.name()
		if m.one(2) {
			at += "/" + strings.Join(own[m.IntN(len(own)+1):], "/")
		}
		m.step(func(w *World) { w.tree(i).make(at) }, "group %d:%q", i, at)
	}
	t.Root.each(func(path string, d *Dir) {
		if d.Up == nil {
			return // the root has no limits
		}
		beside := !t.Own.under(d)
		q, size, high := Quota{}, Size{}, Size{}
		if m.one(2) || beside {
			q = QuotaOf(pick(m.Rand, int64(1000), 50000, 120000, 150000, 200000, 5000000),
				pick(m.Rand, int64(100000), 100000, 20000, 1000000))
		}
		if m.one(2) || beside {
			size = SizeOf(pick(m.Rand, int64(16), 64, 100, 512, 1024, 3072) << 20)
		}
		if m.one(4) {
			high = SizeOf(pick(m.Rand, int64(48), 64, 900, 2048) << 20)
		}
		if m.real { // the process must be able to live and make progress
			q, high = QuotaOf(pick(m.Rand, int64(50000), 90000, 120000, 150000, 200000, 5000000), 100000), Size{}
			if m.one(2) {
				q = Quota{}
			}
			if size.State == Known {
				size = SizeOf(size.Bytes * 32)
			}
		}
		if m.odd {
			if m.one(2) {
				q = anyQuota(m.Rand)
			}
			if m.one(2) {
				size = anySize(m.Rand)
			}
			if m.one(3) {
				high = anySize(m.Rand)
			}
		}
		if q == (Quota{}) && size == (Size{}) && high == (Size{}) {
			return
		}
		m.step(func(w *World) {
			if d := w.tree(i).find(path); d != nil {
				d.Quota, d.Max, d.High = q, size, high
			}
		}, "limits %d:%q: cpu.max %q, v1 %q %q, memory %q, high %q", i, path, q.Max, q.CFS, q.Period, size.Text, high.Text)
	})
}

// each calls f for a directory and its descendants.
func (d *Dir) each(f func(path string, d *Dir)) {
	kids := d.Kids
	f(d.below(d.Tree.Root), d)
	for _, k := range kids {
		k.each(f)
	}
}

// tree returns a hierarchy's root, or an empty one if it no longer exists.
func (w *World) tree(i int) *Dir {
	if i < len(w.Hierarchies) {
		return w.Hierarchies[i].Root
	}
	return w.newTree("none").Root
}

// machine draws defects of the process and of proc.
func (m *maker) machine() {
	p := m.w.Process
	if m.one(4) {
		p.Other = true
		p.Table = pick(m.Rand, "1/mountinfo", "1/mountinfo", "self/mountinfo", "42/mountinfo")
	}
	p.Nameless, p.Elsewhere, p.Raced = m.one(10), m.one(10), m.one(2)
	if p.Other {
		p.Nameless = false // it is looked up by its PID
	}
	p.Memory = pick(m.Rand, p.Memory, p.Memory, p.Memory, 262144, 65536, 0)
	if m.one(100) {
		p.NoCgroup = pick[error](m.Rand, fs.ErrPermission, syscall.EIO)
	}
	if m.one(100) {
		p.NoTable = pick[error](m.Rand, fs.ErrPermission, fs.ErrNotExist, syscall.EIO)
	}
	old := m.one(4)
	m.step(func(w *World) { w.Process, w.OldKernel = p, old }, "process %+v, an old kernel %v", p, old)
	if m.one(5) {
		m.step(func(w *World) { w.Mounts[0].ID = 0 }, "chroot")
	}
}
