// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// ErrNoProcess is returned (wrapped) when the process does not exist, or ended while it was
// being read.
var ErrNoProcess = errors.New("no such process")

// Parts selects what to read besides the limits themselves.
type Parts uint8

const (
	// Counters: throttling and memory use.
	Counters Parts = 1 << iota
	// Detail: weight, burst, cpuset, swap, pressure and memory events. It
	// opens files and allocates at every Read.
	Detail
	// Unreclaimable: Memory.Unreclaimable. It reads one or two files more.
	Unreclaimable
	// Weight: of Detail only weight or shares, requests and memory events, on v1 without Max. It
	// reads two files.
	Weight
	// Kept: limits and affinity are those of the last Read, however old they are, and that the process
	// has ended or moved is not noticed. It is for Read with Counters and Unreclaimable on a Handle
	// that has read both before; otherwise it has no effect.
	Kept
	// Placed: the caller knows that the Handle's process, if it is not Self, is still there and in the
	// same groups, so the Handle does not look.
	Placed
)

// A Handle reads one process's limits repeatedly. It keeps the files open, allocates nothing
// while they do not change, and notices when the process moves to another cgroup or its
// cgroup is removed. It retries files that could not be opened at every 32nd poll. In a saved
// tree, write changes into the existing file: of a file that is replaced, the Handle reads the
// old one until Close. It is not safe for concurrent use.
type Handle struct {
	reader
	files keeper
	live  bool     // the tree is this machine's
	calls bool     // its /proc has this process's PID namespace, so that its PIDs are those of system calls
	own   *machine // keeps the files of this process open, as for a Follower; nil for others
	parts Parts
	stat  probe // cpu.stat of the level that sets the quota
	polls uint
	fresh bool // figures are wanted that were not at the last poll
	last  Limits

	cpusetDir string // of the process's own group, with a slash; "" = to be found

	// The rest is for Unreclaimable.
	charged *level       // the level that sets the soft limit; nil if it cannot be seen
	memstat probe        // its memory.stat
	kmem    probe        // its memory.kmem.usage_in_bytes, v1 only
	pages   Value[int64] // parsed from memory.stat
	paged   bool         // this poll has already read memory.stat for the limits
}

// Process selects the process to read. The zero Process is the calling process.
type Process struct {
	// PID is its process ID. 0 means the calling process or, with FS, the one that FS's
	// proc/self points to.
	PID int
	// FS is the root of a tree that contains proc and sys/fs/cgroup: a node's file system, or
	// the output of snug collect, opened by golang.org/x/tools/txtar.FS. nil is this machine.
	FS fs.FS
}

// Self reads the calling process's limits, as Read does.
func Self() (Limits, error) { return Read(Process{}) }

// Read reads the limits of a process once, with Counters and Detail.
//
// The error wraps ErrNoProcess if there is no process with that PID, or ErrNotSupported.
// Anything else that cannot be read is listed in Unknown.
func Read(p Process) (Limits, error) {
	h, err := open(p, false)
	if err != nil {
		return Limits{}, err
	}
	return h.Read(Counters | Detail)
}

// Open finds a process's cgroups and keeps their files open. It returns the same errors as the
// function Read.
func Open(p Process) (*Handle, error) { return open(p, true) }

// open is Open, and keeps no files open unless keep is set: there may be more files than
// the process may open.
func open(p Process, keep bool) (*Handle, error) {
	fsys, pid := p.FS, p.PID
	h := &Handle{}
	h.pid = pid
	if fsys != nil {
		h.files.opener = fsTree{fsys}
	} else {
		t, err := thisMachine()
		if err != nil {
			return nil, err
		}
		h.files.opener, h.live, h.self = t, true, int64(os.Getpid())
		if pid != 0 {
			self, _ := os.Readlink("/proc/self")
			h.calls = self == strconv.Itoa(os.Getpid())
		}
	}
	h.tree = h.files.opener
	switch {
	case keep && h.live && pid == 0:
		h.own = h.files.opener.(*machine)
		h.own.keep()
	case keep:
		h.tree = &h.files
	}
	proc := "/proc/self"
	if pid != 0 {
		proc = "/proc/" + strconv.Itoa(pid)
		if pid < 0 || h.tree.missing(proc) {
			return nil, noProcess(pid)
		}
	}
	h.start(proc)
	// A process of this machine is read through our own mounts, so use our own table. For
	// a process of another tree use the table of that tree's init.
	h.tables = []string{ownMounts}
	if pid != 0 && !h.live {
		h.tables = []string{"/proc/1/mountinfo", ownMounts, proc + "/mountinfo"}
	}
	h.find()
	return h, nil
}

func noProcess(pid int) error {
	return &fs.PathError{Op: "read", Path: "/proc/" + strconv.Itoa(pid), Err: ErrNoProcess}
}

// find looks up the process's cgroups again.
func (h *Handle) find() {
	if h.own != nil {
		h.own.drop(groups)
	} else {
		h.Close()
	}
	h.cpusetDir = ""
	h.resolve()
}

// want sets the parts to read from this poll on.
func (h *Handle) want(parts Parts) {
	if parts == h.parts {
		return
	}
	h.fresh = parts&^h.parts&^(Detail|Weight) != 0 // these are read with all figures anyway
	h.parts, h.ownStat = parts, nil
	if parts&Unreclaimable != 0 {
		h.ownStat = h.readOwnStat
	}
}

// Close closes the open files. A later Read opens them again.
func (h *Handle) Close() {
	if h != nil && h.tree != nil {
		h.files.closeAll()
		if h.own != nil {
			h.own.drop(all)
		}
		h.tree.release()
	}
}

// Read reads the current limits and the given parts; 0 reads the limits alone. A part not
// asked for keeps its last reading, or is unknown, so you can ask for Detail at some polls
// only. The error wraps ErrNoProcess if another process has ended; the Limits are then the
// last ones read. On a Handle that Open did not return it is fs.ErrInvalid.
func (h *Handle) Read(parts Parts) (Limits, error) {
	if h == nil || h.tree == nil {
		return Limits{}, fs.ErrInvalid
	}
	kept := parts&(Kept|Detail|Weight) == Kept
	h.want(parts &^ (Kept | Placed))
	h.paged = false
	if kept && h.polls > 0 && !h.fresh {
		h.readFigures()
		if !gone(h.stat.err) && !gone(h.memstat.err) {
			return h.last, nil
		} // the group was removed
		h.paged = false
	}
	h.polls++
	first := h.polls == 1
	changed, stale := first || h.fresh, false
	h.fresh = false
	if h.own != nil {
		stale = !first && h.again(h.polls, h.own)
	} else if h.polls%rescan == 0 {
		h.files.retry()
		// The cause of a hidden resource may be over, such as a lack of descriptors.
		stale = h.cpu.unseen() || h.memory.unseen()
	}
	if h.own == nil && !first && parts&Placed == 0 && (h.pid != 0 || h.polls%relook == 0) {
		stale = h.group.read(&h.reader) || stale
		if h.pid != 0 && gone(h.group.err) {
			return h.last, noProcess(h.pid)
		}
	}
	if h.parts&Detail != 0 && !stale { // Detail opens files by path; the files of the limits stay open
		stale = h.vanished(&h.cpu) || h.vanished(&h.memory)
	}
	defer h.tree.release()
	for range 3 {
		if stale && (h.own == nil || h.mayResolve()) {
			h.find()
			changed = true
		}
		var news bool
		news, stale = h.readLevels()
		changed = changed || news
		if !stale {
			break
		}
	}
	changed = changed || h.hostChanged(h.polls, &h.last)
	cpus := h.affinity()
	if h.pid != 0 && h.status.err != nil && (gone(h.status.err) || h.tree.missing(h.proc)) {
		return h.last, noProcess(h.pid)
	}
	if detail := h.parts&(Detail|Weight) != 0; changed || cpus != h.last.CPU.Affinity || detail {
		h.evaluate(&h.last, cpus)
		if h.parts&Unreclaimable != 0 {
			h.charge()
		}
		if detail {
			h.readDetail(h.parts&Detail != 0)
		}
	}
	h.readFigures()
	if h.own != nil {
		h.own.guard()
	}
	return h.last, nil
}

// readFigures reads the parts that change at every poll.
func (h *Handle) readFigures() {
	if h.parts&Counters != 0 {
		h.readCounters()
	}
	if h.parts&Unreclaimable != 0 {
		h.readUnreclaimable()
	}
}

// vanished reports whether a resource's own group was found and is no longer there: it was
// removed, or its mount was unmounted or covered.
func (h *Handle) vanished(res *resource) bool {
	own := res.own()
	return own != nil && h.tree.group(bareDir(own.dir), res.mount) != nil
}

// affinity asks the kernel where possible, and else reads status files.
func (h *Handle) affinity() Value[int] {
	if h.live && h.pid == 0 {
		return h.ownCPUs(h.polls)
	}
	return h.cpusOf()
}
