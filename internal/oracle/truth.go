// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"io/fs"
)

// A Figure is what can be known of one limit.
type Figure struct {
	State State
	Cores float64 // of a quota
	Bytes int64   // of a memory limit
	// Hidden: something that may be tighter cannot be seen, and is to be listed. It is
	// none only where nothing is hidden.
	Hidden bool
	// From is the group whose file says it, the nearest of those with the same limit; nil
	// when Host does.
	From  *Dir
	Total bool // it is hierarchical_memory_limit there
	Host  bool // the machine's memory is smaller
}

// A Level is one group that can be seen.
type Level struct {
	Path  string // as the namespace of whoever looks has it
	Group *Dir
	Quota Figure
}

// Truth is what there is to be known.
type Truth struct {
	CPU, Hard, Soft Figure
	Levels          []Level // those of the CPU, from the own group outwards
	// Seen: the own group can be seen in the hierarchy of that controller, or there is none.
	SeenCPU, SeenMemory bool
	Removed             bool // the own group is no more
	HostHidden          bool // how much memory the machine has
}

// hierarchy is where a controller has the process: v1's where there is one, else v2's,
// whether the controller is on there or not. It is nil where there is none.
func (w *World) hierarchy(controller string) *Tree {
	var v2 *Tree
	for _, t := range w.Hierarchies {
		switch {
		case t.Type == "cgroup2":
			v2 = t
		case t.has(controller):
			return t
		}
	}
	return v2
}

// Truth works out what can be seen.
func (w *World) Truth() Truth {
	var t Truth
	cpu, seen, hidden := w.visible("cpu")
	t.SeenCPU, t.CPU.Hidden = seen, hidden
	for _, d := range cpu {
		q := d.quota(w)
		t.CPU.tighten(q, d)
		t.Levels = append(t.Levels, Level{d.shown(d.Tree.NS), d, q})
	}
	memory, seen, hidden := w.visible("memory")
	t.SeenMemory, t.Hard.Hidden, t.Soft.Hidden = seen, hidden, hidden
	all := !hidden && len(memory) > 0 && memory[len(memory)-1].Up == nil
	for _, d := range memory {
		v2 := d.Tree.Type == "cgroup2"
		name := "memory.limit_in_bytes"
		if v2 {
			name = "memory.max"
			t.Soft.tighten(d.size(w, "memory.high", d.High), d)
		}
		all = all && d.readable(w, name) == nil && d.Max.State != Unknown
		if d.Tree.Own.chargesTo(d) {
			t.Hard.tighten(d.size(w, name, d.Max), d)
		}
	}
	// v1 sums up in each group; the nearest in sight knows most, but nothing new where each
	// limit can be read.
	if !all && len(memory) > 0 && memory[0].Tree.Type != "cgroup2" && memory[0].Tree.Own.chargesTo(memory[0]) {
		t.Hard.tightenByTotal(memory[0].summed(w), memory[0])
	}
	for _, d := range w.own("cpu", "memory") {
		t.Removed = t.Removed || d.Gone
	}
	host := w.Process.Memory << 10
	t.HostHidden = host == 0
	for _, f := range []*Figure{&t.Hard, &t.Soft} {
		f.settle()
		if f.State == Known && host > 0 && host < f.Bytes {
			*f = Figure{State: Known, Bytes: host, Hidden: f.Hidden, Host: true}
		}
	}
	t.CPU.settle()
	// What may not be exceeded is no soft limit's to exceed.
	t.Soft.Hidden = t.Soft.Hidden || t.Hard.Hidden
	if t.Hard.State == Known && (t.Soft.State != Known || t.Hard.Bytes <= t.Soft.Bytes) {
		t.Soft = Figure{State: Known, Bytes: t.Hard.Bytes, Hidden: t.Soft.Hidden, From: t.Hard.From, Total: t.Hard.Total, Host: t.Hard.Host}
	}
	t.Soft.settle()
	return t
}

// own are the process's groups in the hierarchies of some controllers.
func (w *World) own(controllers ...string) (list []*Dir) {
	for _, c := range controllers {
		if t := w.hierarchy(c); t != nil {
			list = append(list, t.Own)
		}
	}
	return list
}

// tighten takes what one group says into account; groups come from the own one outwards.
func (f *Figure) tighten(by Figure, d *Dir) {
	f.Hidden = f.Hidden || by.Hidden
	if by.State == Known && (f.State != Known || by.Cores < f.Cores || by.Bytes < f.Bytes) {
		f.State, f.Cores, f.Bytes, f.From = Known, by.Cores, by.Bytes, d
	}
}

// tightenByTotal: it counts only where it is below what every group in sight says.
func (f *Figure) tightenByTotal(by Figure, d *Dir) {
	f.Hidden = f.Hidden || by.Hidden
	if by.State == Known && (f.State != Known || by.Bytes < f.Bytes) {
		*f = Figure{State: Known, Bytes: by.Bytes, Hidden: f.Hidden, From: d, Total: true}
	}
}

// settle: no limit in sight is none only where all was in sight.
func (f *Figure) settle() {
	if f.State != Known {
		f.State = None
		if f.Hidden {
			f.State = Unknown
		}
	}
}

// readable is why a file of a group cannot be read; fs.ErrNotExist when there is none.
func (d *Dir) readable(w *World, name string) error {
	_, err := d.group(w, name)
	return err
}

// quota is what a group limits the CPU to.
func (d *Dir) quota(w *World) Figure {
	quota, period := "cpu.cfs_quota_us", "cpu.cfs_period_us"
	if d.Tree.Type == "cgroup2" {
		quota, period = "cpu.max", ""
	}
	unknown := Figure{State: Unknown, Hidden: true}
	switch err := d.readable(w, quota); {
	case errors.Is(err, fs.ErrNotExist):
		return Figure{}
	case err != nil, d.Quota.State == Unknown:
		return unknown
	case d.Quota == (Quota{}):
		return Figure{}
	}
	if period != "" && !d.Quota.Bare && d.readable(w, period) != nil {
		return unknown
	}
	return Figure{State: d.Quota.State, Cores: d.Quota.Cores}
}

// size is what a group limits memory to.
func (d *Dir) size(w *World, name string, s Size) Figure {
	switch err := d.readable(w, name); {
	case errors.Is(err, fs.ErrNotExist):
		return Figure{}
	case err != nil, s.State == Unknown:
		return Figure{State: Unknown, Hidden: true}
	}
	return Figure{State: s.State, Bytes: s.Bytes}
}

// summed is what memory.stat of a v1 group says of all groups that it is charged to.
func (d *Dir) summed(w *World) Figure {
	switch err := d.readable(w, "memory.stat"); {
	case errors.Is(err, fs.ErrNotExist):
		return Figure{}
	case err != nil:
		return Figure{State: Unknown, Hidden: true}
	}
	var least Figure
	for ; d != nil; d = d.Up {
		if d.Max.State == Known && (least.State != Known || d.Max.Bytes < least.Bytes) {
			least = Figure{State: Known, Bytes: d.Max.Bytes}
		}
		if !d.chargesUp() {
			break
		}
	}
	return least
}

// chargesTo reports whether what is charged to a group is charged to one above it.
func (d *Dir) chargesTo(top *Dir) bool {
	for ; d != top; d = d.Up {
		if !d.chargesUp() {
			return false
		}
	}
	return true
}

// visible are those of the process's groups that can be seen in the hierarchy of a
// controller, from the own one outwards; whether the own one is among them; and whether
// anything is hidden: the own group, or one above it that some mount would show if it
// were not covered or out of reach. What no mount would show is beyond the horizon, not
// hidden.
func (w *World) visible(controller string) (groups []*Dir, seen, hidden bool) {
	t := w.hierarchy(controller)
	switch {
	case w.Process.NoCgroup != nil || len(w.Hierarchies) == 0:
		return nil, false, true
	case t == nil:
		return nil, true, false
	case w.Process.NoTable != nil:
		return nil, false, true
	}
	for d := t.Own; d != nil; d = d.Up {
		would, does := false, false
		for _, m := range w.Mounts {
			if m.Tree != t || w.replaced(m) {
				continue
			}
			would = would || d.under(m.named(w))
			does = does || d.under(m.Root) && w.shows(m, d) && w.placed(m, d)
		}
		switch {
		case does:
			groups = append(groups, d)
			seen = seen || d == t.Own
		case would || d == t.Own:
			hidden = true
		}
	}
	return groups, seen, hidden
}

// replaced reports whether something else was put in the very place of a mount. Then it is
// as if the mount was undone: it was meant.
func (w *World) replaced(m *Mount) bool {
	if w.on(m, m.Root) != nil {
		return true
	}
	top := w.top(m.point())
	return top != nil && top != m && top.point() == m.point()
}

// named is the group that the mount table names as the root of a mount. One that was
// removed leaves its name, which a new one may have got.
func (m *Mount) named(w *World) *Dir {
	if !m.Root.Gone {
		return m.Root
	}
	if w.OldKernel {
		return nil // it says that it was removed
	}
	return m.Tree.Root.find(m.Root.below(m.Tree.Root))
}

// shows reports whether a mount shows a group: the path there leads to it, and its files
// can be reached.
func (w *World) shows(m *Mount, d *Dir) bool {
	at, _, err := w.Walk(m.point() + d.below(m.Root))
	return err == nil && at == m && !d.Denied && !d.Gone && !errors.Is(d.readable(w, "cgroup.procs"), fs.ErrNotExist)
}

// placed reports whether it can be known where one of the process's groups is in a mount.
// Names are known below that group which holds both the own one and the root of the
// namespace. Of those above only how far above they are: that is enough for the root of the
// mount itself. Others are found if the own group is, where cgroup.procs names the process.
func (w *World) placed(m *Mount, d *Dir) bool {
	t := m.Tree
	known := t.NS
	for !t.Own.under(known) {
		known = known.Up
	}
	if m.Root.under(known) || d == m.Root {
		return true
	}
	if w.Inodes && w.sameInode(m) {
		return true
	}
	return !w.Process.Nameless && !w.Process.Elsewhere && w.shows(m, t.Own) && t.Own.readable(w, "cgroup.procs") == nil
}

// sameInode reports whether the root of the namespace, which another mount shows, is found
// below a mount by its inode: all directories on the way can be listed.
func (w *World) sameInode(m *Mount) bool {
	t := m.Tree
	known := false
	for _, own := range w.Mounts {
		known = known || own.Tree == t && own.Root == t.NS && w.shows(own, t.NS)
	}
	if !known || t.NS.Gone || !t.NS.under(m.Root) {
		return false
	}
	for d := t.NS.Up; d != m.Root.Up; d = d.Up {
		if at, _, err := w.Walk(m.point() + d.below(m.Root)); err != nil || at != m || d.Denied {
			return false
		}
	}
	return true
}

// Own is the process's group where a controller has it; nil when there is none.
func (w *World) Own(controller string) *Dir {
	if t := w.hierarchy(controller); t != nil {
		return t.Own
	}
	return nil
}

// Path is a group's path as the cgroup namespace of whoever looks has it.
func (d *Dir) Path() string { return d.shown(d.Tree.NS) }
