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
	for i, l := range r.memory.levels {
		if !r.memory.V1 {
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
	mounts []*cgroup.Mount

	// What was sought last, see seek.
	sought *cgroup.Mount
	root   string
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

// levels lists every visible cgroup of a resource from the process's own
// outwards, and what keeps some from being seen. The mounts that may show it are
// tried in turn, and each that does not is listed.
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
	code := WarnCgroupUnreachable
	var next *cgroup.Candidate // may show something, if none shows the process's own group
	denied := false
	for i := range candidates {
		c := &candidates[i]
		file, err := r.try(res, c, table)
		if err == nil {
			for j := range res.failed {
				res.failed[j].Other = !candidates[j].Before(c)
			}
			r.climb(res, c, table.root)
			return
		}
		res.failed = append(res.failed, Gap{Field: res.field, File: file, Why: why(err)})
		switch {
		case next != nil || c.Sought:
		case errors.Is(err, fs.ErrPermission):
			next, denied = c, true
		case c.Rest != "" && err != errElsewhere && r.shows(c.Mount, c.Point) == nil:
			if next = c; err == errNoDirectory {
				code = WarnCgroupDeleted
			}
		}
	}
	if denied { // each file says so
		res.failed = nil
		r.climb(res, next, "")
		return
	}
	res.gap, res.failed = res.failed[0], res.failed[1:]
	if next != nil { // the groups above hold as well
		r.climb(res, next, "")
	}
	r.warnUnseen(code, res.Path)
}

// try looks whether a mount shows the process's own group; if not, file is where
// it was looked for.
func (r *reader) try(res *resource, c *cgroup.Candidate, table *mountTable) (file string, err error) {
	if c.Sought {
		root, err := r.seek(c.Mount, res, table)
		if err != nil {
			return c.Point, err
		}
		c.Rest, _ = cgroup.Join(root, res.Path)
	}
	file = strings.TrimSuffix(c.Point, "/") + c.Rest
	if err := r.shows(c.Mount, file); err != nil {
		return file, err
	}
	if r.pid != 0 {
		return file + "/cgroup.procs", r.holds(file)
	}
	return file, nil
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

// holds is an error when a group does not hold the process: another process's paths
// were looked up in a mount table that does not belong to this tree. Where
// cgroup.procs cannot be read nothing speaks against the group.
func (r *reader) holds(dir string) error {
	procs, err := r.tree.read(dir+"/cgroup.procs", make([]byte, 0, 4096), true)
	if err == nil && !cgroup.Holds(procs, int64(r.pid)) {
		return errElsewhere
	}
	return nil
}

// climb lists the groups from the process's own to the root of a mount. root is the path of
// the own cgroup namespace's root in the mount, where the mount shows what is above
// that.
func (r *reader) climb(res *resource, c *cgroup.Candidate, root string) {
	res.mount = c.Mount
	point := strings.TrimSuffix(c.Point, "/")
	for rest := c.Rest; ; rest = rest[:strings.LastIndexByte(rest, '/')] {
		dir := point + rest
		// A group whose directory is missing has no files that could be read;
		// only the process's own can be (it was removed, or is hidden).
		if res.levels != nil || res.gap.Field == "" || r.shows(c.Mount, dir) == nil {
			res.levels = append(res.levels, &level{path: levelPath(res.Path, c, rest, root), dir: dir + "/"})
		}
		if rest == "" {
			return
		}
	}
}

// levelPath is a group's path as the own cgroup namespace has it.
func levelPath(own string, c *cgroup.Candidate, rest, root string) string {
	if c.Sought {
		up := ""
		for {
			if below, ok := cgroup.Below(rest, root); ok {
				if up+below == "" {
					return "/"
				}
				return up + below
			}
			up += "/.."
			root = root[:strings.LastIndexByte(root, '/')]
		}
	}
	if path := own[:len(own)-len(c.Rest)+len(rest)]; path != "" {
		return path
	}
	return "/"
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
