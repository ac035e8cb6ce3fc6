// SPDX-License-Identifier: Apache-2.0

package limits

import "strings"

// resolve finds the process's cgroups anew and opens the files of every
// visible level.
func (r *reader) resolve() {
	r.unseen = Warning{}
	r.group.read(r)
	r.cpu.levels, r.memory.levels = nil, nil
	r.cpu.hierarchy = findGroup(r.group.text, r.cpu.controller)
	r.memory.hierarchy = findGroup(r.group.text, r.memory.controller)
	var table mountTable
	if r.cpu.path != "" || r.memory.path != "" {
		table = r.mounts(r.buf)
	}
	r.levels(&r.cpu, &table)
	r.levels(&r.memory, &table)
	for _, l := range r.cpu.levels {
		l.limit.name = l.dir + "cpu.max"
		if r.cpu.v1 {
			l.limit.name = l.dir + "cpu.cfs_quota_us"
			l.other.name = l.dir + "cpu.cfs_period_us"
		}
	}
	for i, l := range r.memory.levels {
		if !r.memory.v1 {
			l.limit.name = l.dir + "memory.max"
			l.other.name = l.dir + "memory.high"
			continue
		}
		l.limit.name = l.dir + "memory.limit_in_bytes"
		if i == 0 {
			l.other.name = l.dir + "memory.stat"
		}
	}
}

// A mountTable is the cgroup mounts of one mountinfo file.
type mountTable struct {
	file   string
	err    error // why it could not be read
	text   []byte
	mounts []*mount
}

// mounts reads the mount table that the process's cgroup paths are to be
// looked up in, the first that shows a cgroup mount. The table is good until buf
// is used again.
func (r *reader) mounts(buf []byte) (t mountTable) {
	for _, t.file = range r.tables {
		t.text, t.err = r.tree.read(t.file, buf, true)
		if t.mounts = parseMounts(t.text); t.mounts != nil {
			break
		}
	}
	return t
}

// maxPath is PATH_MAX of linux/limits.h: no longer path can be opened, and one
// that a tree makes up would have a level for every other byte.
const maxPath = 4096

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
	case len(res.path) >= maxPath:
		res.hidden(r.group.name, "path too long")
		return
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
