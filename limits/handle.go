// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// ErrNoProcess is returned (wrapped) when the process asked for does not exist
// or ended while it was being read.
var ErrNoProcess = errors.New("no such process")

// Parts says what to read beside the limits themselves.
type Parts uint8

const (
	// Counters: throttling and memory use.
	Counters Parts = 1 << iota
	// Detail: weight, burst, cpuset, swap, pressure and memory events. It
	// opens files and allocates at every Read.
	Detail
	// Unreclaimable: Memory.Unreclaimable, one or two files more.
	Unreclaimable
)

// A Handle reads one process's limits again and again. It keeps the files
// open, allocates nothing while they say the same, and notices when the
// process moved to another cgroup or its cgroup was removed. Files that could
// not be opened are tried again at every 32nd poll. In a saved tree, a file that is
// replaced, and not written anew, keeps its old text until Close. It is not safe for
// concurrent use.
type Handle struct {
	reader
	files keeper
	live  bool   // the tree is this machine
	proc  string // /proc/self or /proc/42
	parts Parts
	stat  probe // cpu.stat of the level that sets the quota
	polls uint
	fresh bool // more is wanted than at the last poll
	last  Limits

	// The rest is for Unreclaimable.
	charged *level       // the level that sets the soft limit; nil when it cannot be seen
	memstat probe        // its memory.stat
	kmem    probe        // its memory.kmem.usage_in_bytes, v1 only
	pages   Value[int64] // what memory.stat says
	paged   bool         // this poll has read it already, with the limits
}

// relook is after how many polls a process looks again which cgroup it is in:
// /proc/self/cgroup costs as much as two limit files, and moves are rare. A
// cgroup that is gone is noticed at once, and so is another process's move.
const relook = 4

// rescan is after how many polls files that could not be opened are tried
// again: a controller can be switched on in a group that is in use, and a
// process can be short of descriptors.
const rescan = 32

// Process says whose limits to read. The zero Process is the one that asks.
type Process struct {
	// PID is its number, 0 for the process that asks, or with FS for the one that FS's
	// proc/self is.
	PID int
	// FS is the root of a tree with proc and sys/fs/cgroup in it: a node's file system, or
	// what snug collect has saved, by golang.org/x/tools/txtar.FS. nil is this machine.
	FS fs.FS
}

// Self reads this process's limits, as Read does.
func Self() (Limits, error) { return Read(Process{}) }

// Read reads the limits of a process once, with Counters and Detail.
//
// The error wraps ErrNoProcess when there is no process with that PID, or ErrNotSupported;
// anything else that cannot be read is listed in Unknown.
func Read(p Process) (Limits, error) {
	h, err := open(p, false)
	if err != nil {
		return Limits{}, err
	}
	return h.Read(Counters | Detail)
}

// Open finds a process's cgroups and keeps their files open. Its errors are those of the
// function Read.
func Open(p Process) (*Handle, error) { return open(p, true) }

// open is Open; who reads once keeps no files, of which there may be more than the
// process may have open.
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
	}
	if h.tree = h.files.opener; keep {
		h.tree = &h.files
	}
	proc := "/proc/self"
	if pid != 0 {
		proc = "/proc/" + strconv.Itoa(pid)
		if pid < 0 || h.tree.missing(proc) {
			return nil, noProcess(pid)
		}
	}
	h.proc = proc
	h.start(proc)
	// For this process its own mounts; for another of this machine again our
	// own, because it is through our own mounts that we read; for another process
	// of another tree that tree's init's.
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

// find looks for the process's cgroups anew.
func (h *Handle) find() {
	h.Close()
	h.resolve()
}

// want is what to read from this poll on.
func (h *Handle) want(parts Parts) {
	if parts == h.parts {
		return
	}
	h.fresh = parts&^h.parts != 0
	h.parts, h.ownStat = parts, nil
	if parts&Unreclaimable != 0 {
		h.ownStat = h.readOwnStat
	}
}

// Close gives the open files back. A later Read opens them again.
func (h *Handle) Close() {
	if h != nil && h.tree != nil {
		h.files.shutAll()
		h.tree.rest()
	}
}

// Read reads the limits as they are now, and parts of what else there is; 0 is the limits
// alone. A part that is not asked for is as it was read last, or unknown: who polls often
// can leave Detail to some of the polls. The error wraps ErrNoProcess when another process
// has ended; the Limits are then the last that were read. On a Handle that Open did not
// return it is fs.ErrInvalid.
func (h *Handle) Read(parts Parts) (Limits, error) {
	if h == nil || h.tree == nil {
		return Limits{}, fs.ErrInvalid
	}
	h.want(parts)
	h.polls++
	h.paged = false
	changed, stale := h.polls == 1 || h.fresh, false
	h.fresh = false
	if h.polls%rescan == 0 {
		h.files.retry()
		// What hides a resource may be over: no descriptor was free, say.
		stale = h.cpu.unseen() || h.memory.unseen()
	}
	if !changed && (h.pid != 0 || h.polls%relook == 0) {
		stale = h.group.read(&h.reader) || stale
		if h.pid != 0 && gone(h.group.err) {
			return h.last, noProcess(h.pid)
		}
	}
	if h.parts&Detail != 0 && !stale { // Detail goes by path, and the open files do not
		stale = h.vanished(&h.cpu) || h.vanished(&h.memory)
	}
	defer h.tree.rest()
	for range 3 {
		if stale {
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
	cpus := h.affinity()
	if h.pid != 0 && h.status.err != nil && (gone(h.status.err) || h.tree.missing(h.proc)) {
		return h.last, noProcess(h.pid)
	}
	if changed || cpus != h.last.CPU.Affinity || h.parts&Detail != 0 {
		h.evaluate(&h.last, cpus)
		if h.parts&Unreclaimable != 0 {
			h.charge()
		}
		if h.parts&Detail != 0 {
			h.readDetail()
		}
	}
	if h.parts&Counters != 0 {
		h.readCounters()
	}
	if h.parts&Unreclaimable != 0 {
		h.readUnreclaimable()
	}
	return h.last, nil
}

// vanished reports whether a resource's own group was found and is no more where it
// was: it was removed, or its mount was undone or covered.
func (h *Handle) vanished(res *resource) bool {
	own := res.own()
	return own != nil && h.tree.group(strings.TrimSuffix(own.dir, "/"), res.mount) != nil
}

// affinity asks the kernel where that can be done, else the status file.
func (h *Handle) affinity() Value[int] {
	if h.live && h.pid == 0 {
		return affinity(int(h.self))
	}
	n, ok := cgroup.AllowedCPUs(h.status.now(&h.reader))
	if !ok {
		return Value[int]{}
	}
	return Of(n)
}
