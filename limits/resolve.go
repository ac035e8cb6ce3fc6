// SPDX-License-Identifier: Apache-2.0

package limits

import "strings"

// resolve finds the process's cgroups anew and opens the files of every
// visible level.
func (r *reader) resolve() {
	r.unseen = Warning{}
	r.group.open(r.tree)
	r.group.read(r)
	if !r.keep {
		r.group.close()
	}
	r.cpu.levels, r.memory.levels = nil, nil
	r.cpu.hierarchy = findGroup(r.group.text, r.cpu.controller)
	r.memory.hierarchy = findGroup(r.group.text, r.memory.controller)
	var table mountTable
	if r.cpu.path != "" || r.memory.path != "" {
		table = r.mounts()
	}
	r.levels(&r.cpu, &table)
	r.levels(&r.memory, &table)
	for _, l := range r.cpu.levels {
		if r.cpu.v1 {
			r.open(l, "cpu.cfs_quota_us", "cpu.cfs_period_us")
		} else {
			r.open(l, "cpu.max", "")
		}
	}
	for i, l := range r.memory.levels {
		switch {
		case !r.memory.v1:
			r.open(l, "memory.max", "memory.high")
		case i == 0:
			r.open(l, "memory.limit_in_bytes", "memory.stat")
		default:
			r.open(l, "memory.limit_in_bytes", "")
		}
	}
}

func (r *reader) open(l *level, limit, other string) {
	l.limit.name = l.dir + limit
	l.limit.open(r.tree)
	if other != "" {
		l.other.name = l.dir + other
		l.other.open(r.tree)
	}
}

// A mountTable is the cgroup mounts of one mountinfo file.
type mountTable struct {
	file   string
	err    error // why it could not be read
	text   []byte
	mounts []mount
}

// mounts reads the mount table that the process's cgroup paths are to be
// looked up in: for this process its own; for another process of this machine
// again our own, because it is through our own mounts that we read; for another
// process of another tree that tree's init's.
func (r *reader) mounts() (t mountTable) {
	stranger := r.pid != 0 && !r.tree.live()
	if stranger {
		t.read(r.tree, "/proc/1/mountinfo")
	}
	if len(t.mounts) == 0 {
		t.read(r.tree, "/proc/self/mountinfo")
	}
	if len(t.mounts) == 0 && stranger {
		t.read(r.tree, r.proc+"/mountinfo")
	}
	return t
}

func (t *mountTable) read(from tree, name string) {
	t.file = name
	f, err := from.open(name)
	if t.err = err; err != nil {
		return
	}
	t.text, t.err = readWhole(f, make([]byte, 0, 16<<10))
	f.close()
	t.mounts = parseMounts(t.text)
}

// levels lists every visible cgroup of a resource from the process's own
// outwards, and what keeps some from being seen.
func (r *reader) levels(res *resource, table *mountTable) {
	res.gap = Gap{}
	switch {
	case r.group.err != nil:
		res.hidden(r.group.name, why(r.group.err))
		return
	case res.path == "":
		if findGroup(r.group.text, "").path == "" {
			res.hidden(r.group.name, "names no cgroup")
		}
		return // there are hierarchies, and none has the controller: it is off
	case table.err != nil:
		res.hidden(table.file, why(table.err))
		return
	}
	m, rest, ok := choose(table.mounts, res.hierarchy, res.controller)
	if !ok {
		res.hidden(table.file, "no cgroup mount shows "+res.path)
		r.warnUnseen(WarnCgroupUnreachable, res.path)
		return
	}
	point := strings.TrimSuffix(m.point, "/")
	above := len(res.path) - len(rest) // how much of the path the root of the mount takes up
	for {
		dir, path := point+rest+"/", res.path[:above+len(rest)]
		if path == "" {
			path = "/"
		}
		// A group whose directory is missing has no files that could be read;
		// only the process's own can be (it was removed, or is hidden).
		if res.levels == nil && r.tree.missing(dir) {
			if res.gap.Field == "" {
				res.hidden(point+rest, "no such directory")
				r.warnUnseen(WarnCgroupDeleted, res.path)
			}
		} else {
			res.levels = append(res.levels, &level{path: path, dir: dir})
		}
		if rest == "" {
			return
		}
		rest = rest[:strings.LastIndexByte(rest, '/')]
	}
}

//go:noinline
func (res *resource) hidden(file, why string) { res.gap = Gap{res.field, file, why} }

// warnUnseen notes once that the process's own group cannot be seen.
//
//go:noinline
func (r *reader) warnUnseen(code, path string) {
	if r.unseen.Code == "" {
		r.unseen.Code = code
		r.unseen.set(r.group.name, path, "")
	}
}
