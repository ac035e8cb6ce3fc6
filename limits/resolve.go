// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// resolve finds the process's cgroups anew and opens the files of every
// visible level.
func (r *reader) resolve() {
	r.unseen = Warning{}
	r.group.read(r)
	r.cpu.levels, r.memory.levels = nil, nil
	r.cpu.Group, _ = cgroup.Find(r.group.text, r.cpu.controller)
	r.memory.Group, _ = cgroup.Find(r.group.text, r.memory.controller)
	var table mountTable
	if r.cpu.Path != "" || r.memory.Path != "" {
		table = r.mounts(r.buf)
	}
	r.levels(&r.cpu, &table)
	r.levels(&r.memory, &table)
	for _, l := range r.cpu.levels {
		l.limit.name = l.dir + "cpu.max"
		if r.cpu.V1 {
			l.limit.name = l.dir + "cpu.cfs_quota_us"
			l.other.name = l.dir + "cpu.cfs_period_us"
		}
	}
	for _, l := range r.memory.levels {
		if r.memory.V1 {
			l.limit.name = l.dir + "memory.limit_in_bytes"
			continue
		}
		l.limit.name = l.dir + "memory.max"
		l.other.name = l.dir + "memory.high"
	}
	r.whole = r.memory.whole(r.tree)
}

// whole reports whether all groups of a v1 hierarchy are seen, from the process's own to
// the root, which alone has a release_agent (cgroups(7)).
func (res *resource) whole(t tree) bool {
	n := len(res.levels)
	return n > 0 && res.V1 && res.gap.Field == "" && t.has(res.levels[n-1].dir+"release_agent")
}

// A mountTable is the cgroup mounts of one mountinfo file.
type mountTable struct {
	file   string
	err    error // why it could not be read
	text   []byte
	mounts []*cgroup.Mount

	// What was sought last, see seek.
	sought *cgroup.Mount
	found  string
	lost   error
}

// mounts reads the mount table that the process's cgroup paths are to be
// looked up in, the first that shows a cgroup mount. The table is good until buf
// is used again.
func (r *reader) mounts(buf []byte) (t mountTable) {
	for _, t.file = range r.tables {
		t.text, t.err = r.tree.read(t.file, buf, true)
		if t.mounts = cgroup.Mounts(t.text); t.mounts != nil {
			break
		}
	}
	return t
}

// maxPath is PATH_MAX of linux/limits.h: no longer path can be opened, and one
// that a tree makes up would have a level for every other byte.
const maxPath = 4096

var (
	errNoDirectory = errors.New("no such directory")
	errCovered     = errors.New("not a cgroup: another mount covers it")
	errNoProcs     = errors.New("not a cgroup: it has no cgroup.procs")
	errElsewhere   = errors.New("does not hold the process")
)

// levels lists every visible cgroup of a resource from the process's own outwards, and
// what keeps some from being seen. The mounts that may show them are tried in turn, and
// what one does not show another may; each that does not show the process's own group is
// listed.
func (r *reader) levels(res *resource, table *mountTable) {
	res.gap, res.failed = Gap{}, nil
	switch {
	case r.group.err != nil:
		res.hidden(r.group.name, why(r.group.err))
		return
	case res.Path == "":
		if !cgroup.Any(r.group.text) {
			res.hidden(r.group.name, "names no cgroup")
		}
		return // there are hierarchies, and none has the controller: it is off
	case len(res.Path) >= maxPath:
		res.hidden(r.group.name, "path too long")
		return
	case table.err != nil:
		res.hidden(table.file, why(table.err))
		return
	}
	candidates := cgroup.Candidates(table.mounts, res.Group, res.controller)
	if len(candidates) == 0 {
		res.hidden(table.file, "no cgroup mount shows "+res.Path)
		r.warnUnseen(WarnCgroupUnreachable, res.Path)
		return
	}
	seen := make([]*level, candidates[0].Levels) // by how far above the own group
	code := WarnCgroupUnreachable
	var denied *cgroup.Candidate
	var failed []Gap
	found := false // something
	for i := 0; i < len(candidates) && seen[0] == nil; i++ {
		c := &candidates[i]
		file, err := r.try(res, c, table, seen)
		found = found || seen[c.Levels-1] != nil
		switch {
		case err == nil:
			res.mount = c.Mount
			continue
		case errors.Is(err, fs.ErrPermission) && !c.Sought:
			denied = c
		case err == errNoDirectory && code != "" && seen[c.Levels-1] != nil:
			code = WarnCgroupDeleted
		}
		failed = append(failed, Gap{Field: res.field, File: file, Why: why(err)})
	}
	switch {
	case seen[0] != nil:
	case denied == nil:
		r.warnUnseen(code, res.Path)
	case !found:
		res.fill(denied, 0, seen)
		failed = nil // each file says so
	}
	// What a mount that failed would have shown, and no other did, is hidden.
	for i, g := range failed {
		if g.Other = !missed(seen[:candidates[i].Levels]); !g.Other && res.gap.Field == "" {
			res.gap = g
		} else {
			res.failed = append(res.failed, g)
		}
	}
	res.levels = seen[:0]
	for _, l := range seen {
		if l != nil {
			res.levels = append(res.levels, l)
		}
	}
}

// missed reports whether one of some levels was not seen.
func missed(seen []*level) bool {
	for _, l := range seen {
		if l == nil {
			return true
		}
	}
	return false
}

// try looks which groups a mount shows, and notes those that were not seen yet. If the
// process's own is not among them, file is where it was looked for.
func (r *reader) try(res *resource, c *cgroup.Candidate, table *mountTable, seen []*level) (file string, err error) {
	if c.Sought {
		if c.Rest, err = r.seek(c.Mount, res, table); err != nil {
			if r.shows(c.Mount, c.Point) == nil { // how far above it is is known
				res.fill(c, c.Levels-1, seen)
			}
			return c.Point, err
		}
	}
	file = strings.TrimSuffix(c.Point, "/") + c.Rest
	err = r.shows(c.Mount, file)
	if err == nil && r.pid != 0 && !r.holds(file) {
		return file + "/cgroup.procs", errElsewhere
	}
	problem := err
	dir, n := file, 0
	for ; problem != nil && n < c.Levels-1; n++ {
		dir = dir[:strings.LastIndexByte(dir, '/')]
		problem = r.shows(c.Mount, dir)
	}
	if problem == nil {
		res.fill(c, n, seen)
	}
	return file, err
}

// fill notes the groups that a mount shows, from the one that is from levels above the
// process's own on: whoever gets to a group gets to those above it.
func (res *resource) fill(c *cgroup.Candidate, from int, seen []*level) {
	point, path := strings.TrimSuffix(c.Point, "/"), res.Path
	dir := point + c.Rest
	for n := range c.Levels {
		if n == c.Levels-1 {
			dir = point
		}
		if n >= from && seen[n] == nil {
			seen[n] = &level{path: path, dir: dir + "/"}
		}
		dir, path = dir[:max(0, strings.LastIndexByte(dir, '/'))], cgroup.Up(path)
	}
}

// shows is nil when a directory is a group that a mount shows.
//
//go:noinline
func (r *reader) shows(m *cgroup.Mount, dir string) error {
	if !m.Shows(dir) {
		return errCovered
	}
	return r.tree.group(dir, m)
}

// holds is false when a group does not hold the process: another process's paths
// were looked up in a mount table that does not belong to this tree. Where
// cgroup.procs cannot be read nothing speaks against the group.
func (r *reader) holds(dir string) bool {
	procs, err := r.tree.read(dir+"/cgroup.procs", make([]byte, 0, 4096), true)
	return err != nil || cgroup.Holds(procs, int64(r.pid))
}

//go:noinline
func (res *resource) hidden(file, why string) { res.gap = Gap{Field: res.field, File: file, Why: why} }

// warnUnseen notes once that the process's own group cannot be seen.
//
//go:noinline
func (r *reader) warnUnseen(code, path string) {
	if r.unseen.Code == "" {
		r.unseen.Code = code
		r.unseen.set(r.group.name, path, "")
	}
}
