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
	meminfo     probe
	host        Value[int64] // MemTotal, less what is reserved as huge pages
	huge        int64        // bytes reserved
	lxcfs       bool         // MemTotal is the container's
	ram, space  int64        // as tree.memory returned them; space at the first time
	asked       bool
	proc        string       // /proc/self or /proc/42
	cpus, most  int          // of all threads at the last read, and the most so far; see ownCPUs
	lone        bool         // the list of threads was refused
	set         *cgroup.CPUs // being counted; nil before the first read, and for other processes
	pid         int          // of another process; 0 is the tree's self
	self        int64        // the tree's self; 0 if not known yet

	denied  bool // permission was refused since the last retry
	refused int  // how often that was retried
	barred  bool // the mount table was refused since the last retry

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
	refused bool  // permission was
}

const ownMounts = "/proc/self/mountinfo"

// start sets the file names of one process: proc is /proc/self or /proc/42.
func (r *reader) start(proc string) {
	r.proc = proc
	r.buf = make([]byte, 0, 2<<10) // it grows with the files; a node has thousands of readers
	r.cpu.controller, r.cpu.field = "cpu", "cpu.quota_cores"
	r.memory.controller, r.memory.field = "memory", "memory.hard_bytes"
	r.group.name = proc + "/cgroup"
	r.status.name = proc + "/status"
}

// relook is the number of polls between looks at the process's own cgroup: /proc/self/cgroup
// costs as much as two limit files, and moves are rare. A cgroup that is gone, and a move of
// another process, are noticed at once.
const relook = 4

// rescan is the number of polls after which files that could not be opened are retried: a
// controller can be enabled in a group that is in use, and a process can run out of
// descriptors. maxRefused is how often that is done where permission is refused, because each time
// may be a line in an audit log.
const (
	rescan     = 32
	maxRefused = 4
)

// again looks for changes of the groups of this process, at a poll after the first, and reports
// whether they must be resolved again.
func (r *reader) again(polls uint, m *machine) (stale bool) {
	switch {
	case polls%rescan != 0:
	case r.refused == maxRefused:
		m.drop(absent)
	default:
		if r.denied {
			r.denied = false
			r.refused++
		}
		r.barred = false
		m.drop(refused)
		// The cause of a gap may be over, such as a lack of descriptors.
		stale = r.cpu.gap.Field != "" || r.memory.gap.Field != ""
	}
	return polls%relook == 0 && r.group.read(r) || stale
}

// mayResolve reports whether the groups can be resolved again. Otherwise what is known stays.
func (r *reader) mayResolve() bool {
	if r.barred || r.tree.sealed() {
		return false
	}
	_, err := r.tree.read(ownMounts, make([]byte, 0, 16<<10), true)
	r.barred = isRefused(err)
	r.denied = r.denied || r.barred
	return err == nil || len(r.cpu.levels)+len(r.memory.levels) == 0
}

// readLevels reads every level's files. It reports whether one changed, and whether a cgroup
// is gone, so that everything must be resolved again.
func (r *reader) readLevels() (changed, vanished bool) {
	for _, res := range [...]*resource{&r.cpu, &r.memory} {
		for _, l := range res.levels {
			had := len(l.limit.text) > 0
			if res == &r.cpu {
				changed = l.readQuota(r) || changed
			} else {
				changed = l.limit.read(r) || changed
				changed = !r.memory.V1 && l.other.read(r) || changed
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
	if p.name == "" || r.refused == maxRefused && p.refused { // there may be no place to keep it
		return nil
	}
	text, err := r.tree.read(p.name, r.buf, false)
	if err == errSealed && len(p.text) > 0 {
		return p.text // it holds as long as nothing else is known
	}
	p.err, p.missing = err, false
	if err != nil {
		p.missing = isNotExist(err)
		p.refused = isRefused(err)
		r.denied = r.denied || p.refused
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
	if r.tree.exchanged(p.name) {
		return p.read(r)
	}
	p.text = append(p.text[:0], text...)
	return true
}
