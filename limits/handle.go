// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io/fs"
	"strconv"
)

// ErrNoProcess is returned (wrapped) when the process asked for does not exist
// or ended while it was being read.
var ErrNoProcess = errors.New("no such process")

// Parts says what to read beside the limits themselves.
type Parts uint8

const (
	// Counters: throttling and memory use.
	Counters Parts = 1 << iota
	// Detail: weight, burst, cpuset, swap, pressure and memory events.
	Detail
)

// A Handle reads one process's limits again and again. It keeps the files
// open, allocates nothing while they say the same, and notices when the
// process moved to another cgroup or its cgroup was removed. It is not safe for
// concurrent use.
type Handle struct {
	reader
	parts Parts
	stat  probe // cpu.stat of the level that sets the quota
	polls uint
	last  Limits
}

// rescan is after how many polls files that were not there are looked for
// again: a controller can be switched on in a group that is in use.
const rescan = 32

// Read reads the limits of one process once, all parts. A nil fsys is this
// machine; otherwise fsys is the root of a tree with proc and sys/fs/cgroup in
// it: a node's file system, a saved situation. pid 0 is this process, or the
// tree's proc/self.
//
// The error wraps ErrNoProcess when pid is not 0 and there is no such process,
// or ErrNotSupported; anything else that cannot be read is listed in Unknown.
func Read(fsys fs.FS, pid int) (Limits, error) {
	h, err := Open(fsys, pid, Counters|Detail)
	if err != nil {
		return Limits{}, err
	}
	defer h.Close()
	return h.Read()
}

// Open finds a process's cgroups and keeps their files open. Parameters and
// errors are those of the function Read.
func Open(fsys fs.FS, pid int, parts Parts) (*Handle, error) {
	h := &Handle{parts: parts}
	h.pid = pid
	if fsys != nil {
		h.tree = fsTree{fsys}
	} else {
		t, err := thisMachine()
		if err != nil {
			return nil, err
		}
		h.tree = t
	}
	proc := "/proc/self"
	if pid != 0 {
		proc = "/proc/" + strconv.Itoa(pid)
		if pid < 0 || h.tree.missing(proc) {
			return nil, noProcess(pid)
		}
	}
	h.start(proc)
	h.keep = true
	h.resolve()
	return h, nil
}

func noProcess(pid int) error {
	return &fs.PathError{Op: "read", Path: "/proc/" + strconv.Itoa(pid), Err: ErrNoProcess}
}

// Close gives the open files back.
func (h *Handle) Close() {
	for _, res := range [...]*resource{&h.cpu, &h.memory} {
		for _, l := range res.levels {
			l.close()
			l.use.close()
		}
	}
	h.group.close()
	h.status.close()
	h.stat.close()
	h.stat = probe{}
}

// Read reads the limits as they are now. The error wraps ErrNoProcess when the
// process, not this one, has ended; the Limits are then the last that were read.
func (h *Handle) Read() (Limits, error) {
	h.polls++
	stale := h.polls%rescan == 0 && h.appeared()
	changed := h.polls == 1
	if !changed {
		moved := h.group.read(&h.reader)
		if h.pid != 0 && gone(h.group.err) {
			return h.last, noProcess(h.pid)
		}
		stale = stale || moved
	}
	for range 3 {
		if stale {
			h.Close()
			h.resolve()
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
	if h.pid != 0 && gone(h.status.err) {
		return h.last, noProcess(h.pid)
	}
	if changed || cpus != h.last.CPU.Affinity {
		h.evaluate(&h.last, cpus)
		if h.parts&Detail != 0 {
			h.readDetail()
		}
	}
	if h.parts&Counters != 0 {
		h.readCounters()
	}
	return h.last, nil
}

// affinity asks the kernel where that can be done, else the status file.
func (h *Handle) affinity() Value[int] {
	if h.tree.live() && h.pid == 0 {
		return affinity()
	}
	if h.status.f == nil && !h.status.missing {
		h.status.open(h.tree)
	}
	return parseAffinity(h.status.now(&h.reader))
}

// appeared reports whether a limit file that was missing is there now.
func (h *Handle) appeared() bool {
	for _, res := range [...]*resource{&h.cpu, &h.memory} {
		for _, l := range res.levels {
			p := &l.limit
			if !p.missing {
				continue
			}
			if f, err := h.tree.open(p.name); err == nil {
				f.close()
				return true
			}
		}
	}
	return false
}
