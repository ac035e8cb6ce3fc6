// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"io/fs"
)

// A Figure is what can be known about one limit.
type Figure struct {
	State State
	Cores float64 // of a quota
	Bytes int64   // of a memory limit
	// Hidden: something that may be tighter cannot be seen, and must be listed. State is none
	// only if nothing is hidden.
	Hidden bool
	// From is the group whose file holds it, the nearest of those with the same limit; nil if
	// Host.
	From  *Dir
	Total bool // it is hierarchical_memory_limit there
	Host  bool // the machine's memory is smaller
}

// A Level is one visible group.
type Level struct {
	Path  string // as the observer's namespace names it
	Group *Dir
	Quota Figure
}

// Truth is everything that can be known.
type Truth struct {
	CPU, Hard, Soft Figure
	Levels          []Level // those of the CPU, from the own group outwards
	// Seen: the own group is visible in that controller's hierarchy, or there is none.
	SeenCPU, SeenMemory bool
	Removed             bool // the own group no longer exists
	HostHidden          bool // the machine's memory size is unknown
}

// hierarchy returns the hierarchy in which a controller has the process: v1's if there is one,
// otherwise v2's, whether or not the controller is enabled there. It is nil if there is none.
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

// Truth computes what can be seen.
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
	// v1 sums up in each group. The nearest visible one knows most, but adds nothing if every
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
	// The soft limit cannot exceed the hard one.
	t.Soft.Hidden = t.Soft.Hidden || t.Hard.Hidden
	if t.Hard.State == Known && (t.Soft.State != Known || t.Hard.Bytes <= t.Soft.Bytes) {
		t.Soft = Figure{State: Known, Bytes: t.Hard.Bytes, Hidden: t.Soft.Hidden, From: t.Hard.From, Total: t.Hard.Total,
			Host: t.Hard.Host}
	}
	t.Soft.settle()
	return t
}

// own returns the process's groups in the hierarchies of some controllers.
func (w *World) own(controllers ...string) (list []*Dir) {
	for _, c := range controllers {
		if t := w.hierarchy(c); t != nil {
			list = append(list, t.Own)
		}
	}
	return list
}

// tighten applies one group's limit; groups come from the own one outwards.
func (f *Figure) tighten(by Figure, d *Dir) {
	f.Hidden = f.Hidden || by.Hidden
	if by.State == Known && (f.State != Known || by.Cores < f.Cores || by.Bytes < f.Bytes) {
		f.State, f.Cores, f.Bytes, f.From = Known, by.Cores, by.Bytes, d
	}
}

// tightenByTotal applies a total, which counts only if it is below every visible group's limit.
func (f *Figure) tightenByTotal(by Figure, d *Dir) {
	f.Hidden = f.Hidden || by.Hidden
	if by.State == Known && (f.State != Known || by.Bytes < f.Bytes) {
		*f = Figure{State: Known, Bytes: by.Bytes, Hidden: f.Hidden, From: d, Total: true}
	}
}

// settle sets a figure without a limit to none, or to unknown if something is hidden.
func (f *Figure) settle() {
	if f.State != Known {
		f.State = None
		if f.Hidden {
			f.State = Unknown
		}
	}
}

// readable returns why a group's file cannot be read; fs.ErrNotExist if there is none.
func (d *Dir) readable(w *World, name string) error {
	_, err := d.group(w, name)
	return err
}

// quota returns a group's CPU limit.
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

// size returns a group's memory limit.
func (d *Dir) size(w *World, name string, s Size) Figure {
	switch err := d.readable(w, name); {
	case errors.Is(err, fs.ErrNotExist):
		return Figure{}
	case err != nil, s.State == Unknown:
		return Figure{State: Unknown, Hidden: true}
	}
	return Figure{State: s.State, Bytes: s.Bytes}
}

// summed returns the total in a v1 group's memory.stat for all groups it is charged to.
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

// chargesTo reports whether memory charged to a group is also charged to an ancestor.
func (d *Dir) chargesTo(top *Dir) bool {
	for ; d != top; d = d.Up {
		if !d.chargesUp() {
			return false
		}
	}
	return true
}

// visible returns the process's visible groups in a controller's hierarchy, from the own one
// outwards; whether the own one is among them; and whether anything is hidden: the own group, or an
// ancestor that some mount would show if it were not covered or inaccessible. What no mount would
// show is out of scope, not hidden.
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

// replaced reports whether something else is mounted at the very place of a mount. It then counts as
// unmounted, because this was intended.
func (w *World) replaced(m *Mount) bool {
	if w.on(m, m.Root) != nil {
		return true
	}
	top := w.top(m.point())
	return top != nil && top != m && top.point() == m.point()
}

// named returns the group that the mount table names as the root of a mount. A removed group leaves
// its name, which a new one may have taken.
func (m *Mount) named(w *World) *Dir {
	if !m.Root.Gone {
		return m.Root
	}
	if w.OldKernel {
		return nil // the table says that it was removed
	}
	return m.Tree.Root.find(m.Root.below(m.Tree.Root))
}

// shows reports whether a mount shows a group: the path leads to it, and its files are accessible.
func (w *World) shows(m *Mount, d *Dir) bool {
	at, _, err := w.Walk(m.point() + d.below(m.Root))
	return err == nil && at == m && !d.Denied && !d.Gone && !errors.Is(d.readable(w, "cgroup.procs"), fs.ErrNotExist)
}

// placed reports whether the place of one of the process's groups in a mount can be known. Names are
// known below the group that contains both the own one and the namespace's root. Of groups above,
// only the distance is known, which suffices for the root of the mount itself. The others are found
// if the own group is, because its cgroup.procs lists the process.
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

// sameInode reports whether the namespace's root, which another mount shows, can be found below a
// mount by its inode: every directory on the path can be listed.
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

// Own returns the process's group for a controller; nil if there is none.
func (w *World) Own(controller string) *Dir {
	if t := w.hierarchy(controller); t != nil {
		return t.Own
	}
	return nil
}

// Path returns a group's path in the observer's cgroup namespace.
func (d *Dir) Path() string { return d.shown(d.Tree.NS) }
