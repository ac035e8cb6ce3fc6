// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"

	"github.com/snug-go/snug/internal/cgroup"
)

// A reader finds one process's cgroups, reads their files and turns what they
// say into Limits. It is all that a Follower needs: what only polling, counters and
// details need is with Handle, so that programs which only want to be fitted do
// not carry it.
type reader struct {
	tree        tree
	buf         []byte   // files are read into it
	tables      []string // mountinfo files, in the order to try them
	group       probe    // /proc/PID/cgroup: where the process is
	status      probe    // /proc/PID/status, where affinity is not a system call away
	cpu, memory resource
	unseen      Warning // why the process's own group cannot be seen; no Code when it can
	host        Value[int64]
	pid         int   // of another process; 0 is the tree's self
	self        int64 // the tree's self; 0 while that is not known

	tightest int // index of the CPU level that sets the quota, 0 when none does

	whole bool // v1: no group that may limit the memory is out of sight
	// ownStat is shown v1's memory.stat of the process's own group whenever it is
	// read; nil when nobody wants more of it than its limit.
	ownStat func(text []byte, p *probe)
}

// A resource is one controller of the process, at all its visible levels.
type resource struct {
	controller string // "cpu", "memory"
	field      string // what a limit that cannot be seen is a gap in
	cgroup.Group
	levels []*level      // from the process's own group outwards
	gap    Gap           // why levels are missing; no Field when none is
	failed []Gap         // other mounts that should have shown them
	mount  *cgroup.Mount // the one that shows them
}

// A level is one visible cgroup.
type level struct {
	path  string // as the hierarchy names it: "/a/b"
	dir   string // where it is: "/sys/fs/cgroup/a/b/"
	limit probe  // cpu.max, memory.max; v1: cpu.cfs_quota_us, memory.limit_in_bytes
	other probe  // memory.high; v1: cpu.cfs_period_us, memory.stat of the first group where it is needed
	use   probe  // memory.current, memory.usage_in_bytes: a counter, named when asked for
	total Value[int64]
	torn  bool   // v1's quota and period may not belong together
	apart answer // v1: nothing that is charged to the groups below is charged to this one
}

// An answer is that of a question which is asked once.
type answer uint8

const (
	notAsked answer = iota
	no
	yes
)

// A probe is one file and what it said last.
type probe struct {
	name    string // "": none
	text    []byte
	err     error // why it could not be read
	missing bool  // there is no such file: a controller that is off, the root group, an older kernel
}

const ownMounts = "/proc/self/mountinfo"

// start names the files of one process: proc is /proc/self or /proc/42.
func (r *reader) start(proc string) {
	r.buf = make([]byte, 0, 8<<10)
	r.cpu.controller, r.cpu.field = "cpu", "cpu.quota_cores"
	r.memory.controller, r.memory.field = "memory", "memory.hard_bytes"
	r.group.name = proc + "/cgroup"
	r.status.name = proc + "/status"
}

// readLevels reads every level's files and reports whether one says something
// new, and whether a cgroup is gone, so that everything must be resolved again.
func (r *reader) readLevels() (changed, vanished bool) {
	for _, res := range [...]*resource{&r.cpu, &r.memory} {
		for _, l := range res.levels {
			had := len(l.limit.text) > 0
			if res == &r.cpu && l.readQuota(r) || res == &r.memory && l.readMemory(r) {
				changed = true
			}
			// A removed group's open file gives ENODEV, its path leads nowhere.
			vanished = vanished || gone(l.limit.err) || had && l.limit.missing
		}
	}
	if r.memory.V1 && len(r.memory.levels) > 0 && r.readTotal() {
		changed = true
	}
	return changed, vanished
}

// readQuota reads a level's bandwidth limit and reports whether it changed.
// v1 keeps it in two files, and whoever changes it writes one after the other:
// a pair counts only when the quota reads the same before and after the period.
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
	l.torn = cgroup.CFSQuota(l.limit.text, l.other.text).State != cgroup.None // no limit is none with any period
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

// readTotal reads what v1 sums up in the first group that is seen: the least limit of all
// groups that it is charged to. It takes the kernel longer than all other files together,
// and says nothing new where each of them can be read.
func (r *reader) readTotal() (changed bool) {
	first, needed := r.memory.levels[0], !r.whole
	for _, l := range r.memory.levels {
		needed = needed || limitOf(l.limit.text).State == Unknown
	}
	switch {
	case !needed || r.apart(first):
		needed, first.other = false, probe{}
	case first.other.name == "":
		first.other.name = first.dir + "memory.stat"
	}
	// All counters but for one line.
	text := first.other.now(r)
	total := sized(cgroup.Hierarchical(text))
	if r.ownStat != nil && needed {
		r.ownStat(text, &first.other)
	}
	if total != first.total {
		first.total, changed = total, true
	}
	return changed
}

// apart reports whether what is charged to the groups below a v1 group is not charged to
// it: before Linux 5.11, where memory.use_hierarchy says so (kernel doc:
// admin-guide/cgroup-v1/memory.rst). It cannot be changed while there are groups below.
func (r *reader) apart(l *level) bool {
	if l.path == r.memory.Path {
		return false
	}
	if l.apart == notAsked {
		p := probe{name: l.dir + "memory.use_hierarchy"}
		if l.apart = no; string(cgroup.Trim(p.now(r))) == "0" {
			l.apart = yes
		}
	}
	return l.apart == yes
}

// now is what the file says, good until the next file is read; nil when it
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

// read reads the file and reports whether it says something else than before.
func (p *probe) read(r *reader) (changed bool) {
	failed := p.err != nil
	text := p.now(r)
	if failed == (p.err != nil) && bytes.Equal(text, p.text) {
		return false
	}
	p.text = append(p.text[:0], text...)
	return true
}
