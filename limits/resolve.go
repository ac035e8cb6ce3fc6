// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// resolve looks up the process's cgroups and names the files of every visible level.
func (r *reader) resolve() {
	r.unseen, r.complete = Warning{}, false
	r.group.read(r)
	r.cpu.levels, r.memory.levels = nil, nil
	r.cpu.Group, _ = cgroup.Find(r.group.text, r.cpu.controller)
	r.memory.Group, _ = cgroup.Find(r.group.text, r.memory.controller)
	table := r.mounts(r.buf)
	r.lxcfs = table.lxcfs
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
	if n := len(r.memory.levels); n > 0 && r.memory.V1 && r.memory.gap.Field == "" {
		// All groups of a v1 hierarchy are visible, from the process's own to the root, which alone has a
		// release_agent (cgroups(7)).
		_, r.complete = r.tree.inode(r.memory.levels[n-1].dir + "release_agent")
	}
}

// A mountTable holds the cgroup mounts of one mountinfo file.
type mountTable struct {
	file   string
	err    error // why it could not be read
	text   []byte
	mounts []*cgroup.Mount
	lxcfs  bool // see cgroup.Mounts

	// The last search, see seek.
	lastMount *cgroup.Mount
	lastRest  string
	lastErr   error
}

// mounts reads the mount table in which to look up the process's cgroup paths: the first that
// has a cgroup mount. The table is valid until buf is reused.
func (r *reader) mounts(buf []byte) (t mountTable) {
	for _, t.file = range r.tables {
		t.text, t.err = r.tree.read(t.file, buf, true)
		if t.mounts, t.lxcfs = cgroup.Mounts(t.text); t.mounts != nil {
			break
		}
	}
	return t
}

// maxPath is PATH_MAX of linux/limits.h: no longer path can be opened. Without it a made-up
// path could have a level for every other byte.
const maxPath = 4096

var (
	errNoDirectory = errors.New("no such directory")
	errCovered     = errors.New("not a cgroup: another mount covers it")
	errNoProcs     = errors.New("not a cgroup: it has no cgroup.procs")
	errElsewhere   = errors.New("does not hold the process")
)

// levels lists every visible cgroup of a resource, from the process's own outwards, and why
// others cannot be seen. It tries each candidate mount in turn, because one mount may show
// what another does not, and lists each that does not show the process's own group.
func (r *reader) levels(res *resource, table *mountTable) {
	res.gap, res.failed = Gap{}, nil
	switch {
	case r.group.err != nil:
		res.hidden(r.group.name, errText(r.group.err))
		return
	case res.Path == "":
		if !cgroup.Any(r.group.text) {
			res.hidden(r.group.name, "names no cgroup")
		}
		return // there are hierarchies, but none has the controller: it is disabled
	case len(res.Path) >= maxPath:
		res.hidden(r.group.name, "path too long")
		return
	case table.err != nil:
		res.hidden(table.file, errText(table.err))
		return
	}
	candidates := cgroup.Candidates(table.mounts, res.Group, res.controller)
	if len(candidates) == 0 {
		res.hidden(table.file, "no cgroup mount shows "+res.Path)
		r.warnUnseen(WarnCgroupUnreachable, res.Path)
		return
	}
	seen := make([]*level, candidates[0].Levels) // indexed by the distance from the own group
	code := WarnCgroupUnreachable
	var denied *cgroup.Candidate
	var failed []Gap
	found := false // something was seen
	for i := 0; i < len(candidates) && seen[0] == nil; i++ {
		c := &candidates[i]
		file, err := r.try(res, c, table, seen)
		found = found || seen[c.Levels-1] != nil
		switch {
		case err == nil:
			res.mount = c.Mount
			continue
		case isRefused(err) && !c.Sought:
			denied, r.denied = c, true
		case err == errNoDirectory && code != "" && seen[c.Levels-1] != nil:
			code = WarnCgroupDeleted
		}
		addGap(&failed, res.field, file, errText(err), false)
	}
	switch {
	case seen[0] != nil:
	case denied == nil:
		r.warnUnseen(code, res.Path)
	case !found:
		res.fill(denied, 0, seen)
		failed = nil // each file reports the error
	}
	// A level that a failed mount should have shown, and no other mount did, is hidden.
	for i := range failed {
		g := &failed[i]
		if other := !missed(seen[:candidates[i].Levels]); !other && res.gap.Field == "" {
			res.hidden(g.File, g.Why)
		} else {
			addGap(&res.failed, g.Field, g.File, g.Why, other)
		}
	}
	res.levels = seen[:0]
	for _, l := range seen {
		if l != nil {
			res.levels = append(res.levels, l)
		}
	}
}

// bareDir returns a directory without the slash at its end.
//
//go:noinline
func bareDir(dir string) string { return strings.TrimSuffix(dir, "/") }

// missed reports whether any level was not seen.
func missed(seen []*level) bool {
	for _, l := range seen {
		if l == nil {
			return true
		}
	}
	return false
}

// try finds the groups that a mount shows, and records the new ones. If the process's own
// group is not among them, file is where it was expected.
func (r *reader) try(res *resource, c *cgroup.Candidate, table *mountTable, seen []*level) (file string, err error) {
	if c.Sought {
		if c.Rest, err = r.seek(c.Mount, res, table); err != nil {
			if r.shows(c.Mount, c.Point) == nil { // its depth above the own group is known
				res.fill(c, c.Levels-1, seen)
			}
			return c.Point, err
		}
	}
	file = bareDir(c.Point) + c.Rest
	err = r.shows(c.Mount, file)
	if err == nil && r.foreign() && !r.holds(file) {
		return file + "/cgroup.procs", errElsewhere
	}
	problem := err
	dir, n := file, 0
	for ; problem != nil && n < c.Levels-1; n++ {
		dir = dir[:cgroup.Slash(dir)]
		problem = r.shows(c.Mount, dir)
	}
	if problem == nil {
		res.fill(c, n, seen)
	}
	return file, err
}

// fill records the groups that a mount shows, starting from levels above the process's own:
// if a group can be reached, so can its ancestors.
func (res *resource) fill(c *cgroup.Candidate, from int, seen []*level) {
	point, path := bareDir(c.Point), res.Path
	dir := point + c.Rest
	for n := range c.Levels {
		if n == c.Levels-1 {
			dir = point
		}
		if n >= from && seen[n] == nil {
			seen[n] = &level{path: path, dir: dir + "/"}
		}
		dir, path = dir[:max(0, cgroup.Slash(dir))], cgroup.Up(path)
	}
}

// shows returns nil if a directory is a group that a mount shows.
//
//go:noinline
func (r *reader) shows(m *cgroup.Mount, dir string) error {
	if !m.Shows(dir) {
		return errCovered
	}
	return r.tree.group(dir, m)
}

// foreign reports whether paths are looked up in a mount table that may be of another tree than
// they are. Then only the group can tell. On this machine both are as the kernel shows them here.
func (r *reader) foreign() bool { return len(r.tables) > 1 }

// holds reports whether a group holds the process. It returns true if cgroup.procs cannot be
// read. For cgroup v1 the kernel sorts that file anew, whose length is that of the group: of a
// controller that is not used, all processes of the machine.
func (r *reader) holds(dir string) bool {
	procs, err := r.tree.read(dir+"/cgroup.procs", make([]byte, 0, 4096), true)
	return err != nil || cgroup.Holds(procs, int64(r.pid))
}

//go:noinline
func (res *resource) hidden(file, why string) { res.gap = Gap{Field: res.field, File: file, Why: why} }

// warnUnseen records once that the process's own group cannot be seen.
func (r *reader) warnUnseen(code, path string) {
	if r.unseen.Code == "" {
		r.unseen.Code = code
		r.unseen.set(r.group.name, path, "")
	}
}
