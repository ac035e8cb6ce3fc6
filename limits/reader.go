// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"

	"github.com/snug-go/snug/internal/cgroup"
)

// A reader finds one process's cgroups, reads their files and computes Limits. It is all a
// Follower needs. Polling, counters and details are in Handle, so that programs which only
// fit themselves do not link them.
type reader struct {
	tree        tree
	buf         []byte   // buffer for file contents
	tables      []string // mountinfo files, in the order to try them
	group       probe    // /proc/PID/cgroup: the process's groups
	status      probe    // /proc/PID/status, for affinity where no system call can be used
	cpu, memory resource
	unseen      Warning // why the process's own group cannot be seen; no Code if it can
	host        Value[int64]
	pid         int   // of another process; 0 is the tree's self
	self        int64 // the tree's self; 0 if not known yet

	tightest int // index of the CPU level that sets the quota, 0 if none does

	complete bool // v1: every group that may limit the memory is visible
	// ownStat, if not nil, is called with v1's memory.stat of the process's own group each
	// time it is read.
	ownStat func(text []byte, p *probe)
}

// A resource is one controller of the process, at all its visible levels.
type resource struct {
	controller string // "cpu", "memory"
	field      string // name of the limit in a Gap
	cgroup.Group
	levels []*level      // from the process's own group outwards
	gap    Gap           // why levels are missing; no Field if none are
	failed []Gap         // the other mounts that failed to show them
	mount  *cgroup.Mount // the mount that shows them
}

// A level is one visible cgroup.
type level struct {
	path  string // as named by the hierarchy: "/a/b"
	dir   string // as mounted: "/sys/fs/cgroup/a/b/"
	limit probe  // cpu.max, memory.max; v1: cpu.cfs_quota_us, memory.limit_in_bytes
	other probe  // memory.high; v1: cpu.cfs_period_us, or the first group's memory.stat where needed
	usage probe  // memory.current or memory.usage_in_bytes; named on first use
	total Value[int64]
	torn  bool   // v1's quota and period may not belong together
	flat  answer // v1: memory charged to the groups below is not charged to this one
}

// An answer is that of a question asked once.
type answer uint8

const (
	unasked answer = iota
	no
	yes
)

// A probe is one file and its last contents.
type probe struct {
	name    string // "": none
	text    []byte
	err     error // why it could not be read
	missing bool  // no such file: a disabled controller, the root group, or an older kernel
}

const ownMounts = "/proc/self/mountinfo"

// start sets the file names of one process: proc is /proc/self or /proc/42.
func (r *reader) start(proc string) {
	r.buf = make([]byte, 0, 2<<10) // it grows with the files; a node has thousands of readers
	r.cpu.controller, r.cpu.field = "cpu", "cpu.quota_cores"
	r.memory.controller, r.memory.field = "memory", "memory.hard_bytes"
	r.group.name = proc + "/cgroup"
	r.status.name = proc + "/status"
}

// readLevels reads every level's files. It reports whether one changed, and whether a cgroup
// is gone, so that everything must be resolved again.
func (r *reader) readLevels() (changed, vanished bool) {
	for _, res := range [...]*resource{&r.cpu, &r.memory} {
		for _, l := range res.levels {
			had := len(l.limit.text) > 0
			if res == &r.cpu && l.readQuota(r) || res == &r.memory && l.readMemory(r) {
				changed = true
			}
			// The open file of a removed group gives ENODEV, its path ENOENT.
			vanished = vanished || gone(l.limit.err) || had && l.limit.missing
		}
	}
	if r.memory.V1 && len(r.memory.levels) > 0 && r.readTotal() {
		changed = true
	}
	return changed, vanished
}

// readQuota reads a level's bandwidth limit and reports whether it changed. v1 keeps it in
// two files that are written one after the other: a pair is valid only if the quota reads the
// same before and after the period.
func (l *level) readQuota(r *reader) bool {
	changed := l.limit.read(r)
	if l.other.name == "" {
		return changed
	}
	changed = l.other.read(r) || changed
	if !changed {
		changed, l.torn = l.torn, false
		return changed
	}
	l.torn = cgroup.CFSQuota(l.limit.text, l.other.text).State != cgroup.None // no limit is no limit with any period
	for try := 0; try < 5 && l.torn; try++ {
		if l.torn = l.limit.read(r); l.torn {
			l.other.read(r)
		}
	}
	return true
}

// readMemory reads a level's memory limits and reports whether they changed.
func (l *level) readMemory(r *reader) bool {
	changed := l.limit.read(r)
	if !r.memory.V1 {
		changed = l.other.read(r) || changed
	}
	return changed
}

// readTotal reads v1's hierarchical limit at the first visible group: the minimum over all
// groups it is charged to. The kernel takes longer for it than for all other files together,
// so it is read only if a level cannot be read.
func (r *reader) readTotal() (changed bool) {
	first, needed := r.memory.levels[0], !r.complete
	for _, l := range r.memory.levels {
		needed = needed || limitOf(l.limit.text).State == Unknown
	}
	switch {
	case !needed || r.flat(first):
		needed, first.other = false, probe{}
	case first.other.name == "":
		first.other.name = first.dir + "memory.stat"
	}
	// The text is all counters except for one line.
	text := first.other.now(r)
	total := valueOf(cgroup.Hierarchical(text))
	if r.ownStat != nil && needed {
		r.ownStat(text, &first.other)
	}
	if total != first.total {
		first.total, changed = total, true
	}
	return changed
}

// flat reports whether memory charged to the groups below a v1 group is not charged to the
// group itself. Before Linux 5.11 memory.use_hierarchy decides (kernel doc:
// admin-guide/cgroup-v1/memory.rst). It cannot change while there are groups below.
func (r *reader) flat(l *level) bool {
	if l.path == r.memory.Path {
		return false
	}
	if l.flat == unasked {
		p := probe{name: l.dir + "memory.use_hierarchy"}
		if l.flat = no; string(cgroup.Trim(p.now(r))) == "0" {
			l.flat = yes
		}
	}
	return l.flat == yes
}

// now returns the file's current text, valid until the next file is read, or nil if it
// cannot be read.
func (p *probe) now(r *reader) []byte {
	if p.name == "" {
		return nil
	}
	text, err := r.tree.read(p.name, r.buf, false)
	p.err, p.missing = err, false
	if err != nil {
		p.missing = isNotExist(err)
		return nil
	}
	r.buf = text[:cap(text)]
	return text
}

// read reads the file and reports whether it changed.
func (p *probe) read(r *reader) (changed bool) {
	failed := p.err != nil
	text := p.now(r)
	if failed == (p.err != nil) && bytes.Equal(text, p.text) {
		return false
	}
	p.text = append(p.text[:0], text...)
	return true
}
