// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
)

// An Entry is one file or directory of a saved tree. Names are absolute.
type Entry struct {
	Name string
	Dir  bool
	Text string
	Fail error // the error of a read; fs.ErrPermission if it cannot be opened or entered
}

// Entries returns the tree that the process sees, parents before children; inaccessible directories
// come last.
func (w *World) Entries() []Entry {
	var list, denied []Entry
	w.all(func(path string, _ *Mount, d *Dir) {
		list = append(list, Entry{Name: path, Dir: true})
		for _, name := range slices.Sorted(maps.Keys(d.Files)) {
			list = append(list, Entry{Name: path + "/" + name, Text: d.Files[name]})
		}
		for _, name := range groupFiles {
			if text, err := d.group(w, name); !errors.Is(err, fs.ErrNotExist) {
				list = append(list, Entry{Name: path + "/" + name, Text: text, Fail: err})
			}
		}
		if d.Denied {
			denied = append(denied, Entry{Name: path, Dir: true, Fail: fs.ErrPermission})
		}
	})
	for _, name := range slices.Sorted(maps.Keys(w.procFiles())) {
		if text, err := w.proc(name); !errors.Is(err, fs.ErrNotExist) {
			list = append(list, Entry{Name: "/proc/" + name, Text: text, Fail: err})
		}
	}
	return append(list[1:], denied...) // not the root
}

// Read returns the content of one file, without building the tree.
func (w *World) Read(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "/proc/"); ok {
		return w.proc(rest)
	}
	i := strings.LastIndexByte(name, '/')
	_, d, err := w.Walk(name[:i])
	switch {
	case err != nil:
		return "", err
	case d.Denied:
		return "", fs.ErrPermission
	}
	if text, ok := d.Files[name[i+1:]]; ok {
		return text, nil
	}
	return d.group(w, name[i+1:])
}

var groupFiles = []string{"cgroup.procs", "cpu.max", "memory.max", "memory.high",
	"cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes", "memory.stat", "memory.use_hierarchy",
	"release_agent"}

// has reports whether a hierarchy has a controller.
func (t *Tree) has(controller string) bool { return slices.Contains(t.Controllers, controller) }

// group returns the content of a group's file; fs.ErrNotExist if there is no such file.
func (d *Dir) group(w *World, name string) (string, error) {
	t := d.Tree
	if t.Own == nil || d.Gone {
		return "", fs.ErrNotExist
	}
	if err := d.Fails[name]; err != nil {
		return "", err
	}
	if name == "cgroup.procs" {
		return d.procs(w)
	}
	v2 := t.Type == "cgroup2"
	if name == "release_agent" && !v2 && d.Up == nil {
		return "\n", nil
	}
	controller, _, _ := strings.Cut(name, ".")
	switch {
	case !t.has(controller):
		return "", fs.ErrNotExist
	case v2 && (d.Up == nil || d.depth() > t.Enabled): // the root has no limits
		return "", fs.ErrNotExist
	case v2 && t.Threaded && d == t.Own && controller == "memory": // it is not a threaded controller
		return "", fs.ErrNotExist
	}
	none := "max\n"
	if !v2 {
		none = "9223372036854771712\n"
	}
	size := func(s Size) string {
		if s == (Size{}) {
			return none
		}
		return s.Text
	}
	q := d.Quota
	if q == (Quota{}) {
		q = noQuota(100000)
	}
	switch {
	case v2 && name == "cpu.max":
		return q.Max, nil
	case v2 && name == "memory.max":
		return size(d.Max), nil
	case v2 && name == "memory.high":
		return size(d.High), nil
	case v2:
	case name == "cpu.cfs_quota_us":
		return q.CFS, nil
	case name == "cpu.cfs_period_us":
		return q.Period, nil
	case name == "memory.limit_in_bytes":
		return size(d.Max), nil
	case name == "memory.stat":
		return fmt.Sprintf("cache 4096\nrss 8192\nhierarchical_memory_limit %s\ntotal_cache 4096\n", d.total()), nil
	case name == "memory.use_hierarchy" && d.depth() < t.Flat:
		return "0\n", nil
	case name == "memory.use_hierarchy":
		return "1\n", nil
	}
	return "", fs.ErrNotExist
}

// procs returns a group's cgroup.procs. A threaded group has no processes of its own
// (admin-guide/cgroup-v2.rst); a process in another PID namespace is 0 on v2 and omitted on v1.
func (d *Dir) procs(w *World) (string, error) {
	t := d.Tree
	others := pickBy(d.Inode, "", "7\n", "7\n8\n")
	if t.Type == "cgroup2" {
		others = pickBy(d.Inode, "", "0\n", "7\n0\n")
	}
	domain := t.Own
	if t.Threaded && t.Own.Up != nil {
		if d == t.Own {
			return "", syscall.EOPNOTSUPP
		}
		domain = t.Own.Up
	}
	switch {
	case d == domain && !w.Process.Elsewhere:
		others += fmt.Sprintf("%d\n", w.Process.Pid)
	case d == domain && t.Type == "cgroup2":
		others = "0\n"
	case d == domain:
		others = ""
	}
	return others, nil
}

func pickBy(n uint64, list ...string) string { return list[n%uint64(len(list))] }

// total returns hierarchical_memory_limit: the smallest limit of all groups to which the group's
// memory is charged.
func (d *Dir) total() string {
	least := Size{Text: "9223372036854771712"}
	for ; ; d = d.Up {
		if d.Max.State == Known && (least.State != Known || d.Max.Bytes < least.Bytes) {
			least = SizeOf(d.Max.Bytes)
		}
		if !d.chargesUp() {
			return strings.TrimSpace(least.Text)
		}
	}
}

// chargesUp reports whether memory charged to a group is also charged to its parent: always on v2;
// on v1 if memory.use_hierarchy of the parent is set (admin-guide/cgroup-v1/memory.rst).
func (d *Dir) chargesUp() bool {
	return d.Up != nil && (d.Tree.Type == "cgroup2" || d.Up.depth() >= d.Tree.Flat)
}

// procFiles returns proc's files, with their contents or why they cannot be read.
func (w *World) procFiles() map[string]error {
	p := &w.Process
	files := map[string]error{"meminfo": nil, "self/cgroup": nil, "self/status": nil, p.Table: p.NoTable}
	if p.Other {
		files[p.dir()+"/cgroup"], files[p.dir()+"/status"] = nil, nil
	}
	files[p.dir()+"/cgroup"] = p.NoCgroup
	return files
}

func (p *Process) dir() string {
	if p.Other {
		return fmt.Sprint(p.Pid)
	}
	return "self"
}

func (w *World) proc(name string) (string, error) {
	p := &w.Process
	err, ok := w.procFiles()[name]
	switch {
	case !ok:
		return "", fs.ErrNotExist
	case err != nil:
		return "", err
	case name == p.Table:
		return w.mountinfo(), nil
	case name == p.dir()+"/cgroup":
		return w.groups(), nil
	case name == p.dir()+"/status":
		if p.Nameless {
			return "Name:\tapp\nCpus_allowed:\tffff\n", nil
		}
		return fmt.Sprintf("Name:\tapp\nPid:\t%d\nCpus_allowed:\tffff\n", p.Pid), nil
	case name == "meminfo" && p.Memory == 0:
		return "MemFree:  1024 kB\n", nil
	case name == "meminfo":
		return fmt.Sprintf("MemTotal:       %d kB\nMemFree:  1024 kB\n", p.Memory), nil
	case name == "self/cgroup": // the observer's own
		return "0::/looks\n", nil
	}
	return "Name:\tlooks\nPid:\t1\nCpus_allowed:\t3\n", nil
}

// groups returns /proc/PID/cgroup (cgroups(7)), which escapes nothing and lists v2 last.
func (w *World) groups() string {
	var b strings.Builder
	for i, t := range slices.Backward(w.Hierarchies) {
		path := t.Own.shown(t.NS)
		if t.Own.Gone && t.Type == "cgroup2" && !w.Process.Raced {
			path += " (deleted)"
		}
		switch {
		case t.Type == "cgroup2":
			fmt.Fprintf(&b, "0::%s\n", path)
		case t.Named != "":
			fmt.Fprintf(&b, "%d:name=%s:%s\n", i+1, t.Named, path)
		default:
			fmt.Fprintf(&b, "%d:%s:%s\n", i+1, strings.Join(t.Controllers, ","), path)
		}
	}
	return b.String()
}

var escaper = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// mountinfo returns /proc/PID/mountinfo (proc_pid_mountinfo(5)).
func (w *World) mountinfo() string {
	var b strings.Builder
	for i, m := range w.Mounts {
		if m.On == nil && m.ID == 0 {
			continue // the process's root is not a mount but a directory of one: chroot(2)
		}
		on := 0
		if m.On != nil {
			on = m.On.ID
		}
		root := m.Root.below(m.Tree.Root)
		if m.Tree.Own != nil {
			root = m.Root.shown(m.Tree.NS)
		}
		if root == "" {
			root = "/"
		}
		if m.Root.Gone && w.OldKernel {
			root += "//deleted"
		}
		options := "rw"
		switch {
		case m.Tree.Type == "cgroup2":
			options = "rw,nsdelegate"
		case m.Tree.Named != "":
			options = "rw,xattr,name=" + m.Tree.Named
		case m.Tree.Own != nil:
			options = "rw," + strings.Join(m.Tree.Controllers, ",")
		}
		optional := pickBy(uint64(i+m.ID), "", " shared:5", " shared:3 master:2")
		fmt.Fprintf(&b, "%d %d 0:%d %s %s rw,relatime%s - %s %s %s\n", m.ID, on, m.Tree.Minor,
			escaper.Replace(root), escaper.Replace(m.point()), optional, m.Tree.Type, m.Tree.Type, options)
	}
	return b.String()
}
