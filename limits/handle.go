// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"io/fs"
	"strconv"
)

// A Handle reads one process's limits again and again. It keeps the files
// open, allocates nothing while they say the same, and notices when the
// process moved to another cgroup or its cgroup was removed. It is not safe for
// concurrent use.
type Handle struct {
	tree tree
	proc string // "proc/self" or "proc/42"
	pid  int    // 0: this process or the tree's self

	// What reads the parts asked for; nil for those that were not. Functions,
	// so that a program which only calls Self does not carry the rest.
	count, detail func(*Handle)

	scratch []byte
	group   probe // /proc/PID/cgroup: where the process is
	status  probe // /proc/PID/status, where affinity is not a system call away
	cpu     []cpuLevel
	memory  []memoryLevel
	stat    probe // cpu.stat of the level that sets the quota
	polls   uint

	// What resolving found and polling only repeats.
	cpuAt, memoryAt     hierarchy
	cpuGaps, memoryGaps []Gap
	warnings            []Warning
	host                Value[int64]

	last Limits
}

// A probe is one file that is read at every poll.
type probe struct {
	name string
	f    file   // nil when it could not be opened
	err  error  // why, or why it could not be read
	text []byte // what it said last
}

type cpuLevel struct {
	path          string
	v1            bool
	torn          bool  // quota and period may not belong together
	quota, period probe // v2: quota is cpu.max and there is no period
}

type memoryLevel struct {
	path                  string
	v1                    bool
	limit, high, use, sum probe // v1: no high; sum is memory.stat of the process's own group
}

// rescan is after how many polls files that were not there are looked for
// again: a controller can be switched on in a group that is in use.
const rescan = 32

// Open finds a process's cgroups and keeps their files open. Parameters and
// errors are those of Read.
func Open(fsys fs.FS, pid int, parts Parts) (*Handle, error) {
	h := &Handle{pid: pid}
	if fsys != nil {
		h.tree = fsTree{fsys}
	} else {
		t, err := thisMachine()
		if err != nil {
			return nil, err
		}
		h.tree = t
	}
	if parts&Counters != 0 {
		h.count = readCounters
	}
	if parts&Detail != 0 {
		h.detail = readDetail
	}
	h.proc = "proc/self"
	if pid != 0 {
		h.proc = "proc/" + strconv.Itoa(pid)
		if pid < 0 || h.tree.missing(h.proc) {
			return nil, noProcess(pid)
		}
	}
	h.start()
	return h, nil
}

// Self opens this process's own limits, and nothing but the limits: what a
// program needs at its start. It is Open(nil, 0, 0) without the code for other
// trees and other parts. On other systems than Linux the error wraps
// ErrNotSupported.
func Self() (*Handle, error) {
	t, err := thisMachine()
	if err != nil {
		return nil, err
	}
	h := &Handle{tree: t, proc: "proc/self"}
	h.start()
	return h, nil
}

func (h *Handle) start() {
	h.scratch = make([]byte, 4096)
	h.group.name = h.proc + "/cgroup"
	h.status.name = h.proc + "/status"
	h.resolve()
}

func noProcess(pid int) error {
	return &fs.PathError{Op: "read", Path: "/proc/" + strconv.Itoa(pid), Err: ErrNoProcess}
}

// Close gives the open files back.
func (h *Handle) Close() {
	h.closeLevels()
	h.group.close()
	h.status.close()
}

func (h *Handle) closeLevels() {
	for i := range h.cpu {
		h.cpu[i].quota.close()
		h.cpu[i].period.close()
	}
	for i := range h.memory {
		m := &h.memory[i]
		m.limit.close()
		m.high.close()
		m.use.close()
		m.sum.close()
	}
	h.stat.close()
	h.cpu, h.memory, h.stat = nil, nil, probe{}
}

// Read reads the limits as they are now. The error wraps ErrNoProcess when the
// process, not this one, has ended; the Limits are then the last that were read.
func (h *Handle) Read() (Limits, error) {
	h.polls++
	stale := h.polls%rescan == 0 && h.appeared()
	if h.polls > 1 {
		moved := h.group.read(h)
		if h.pid != 0 && gone(h.group.err) {
			return h.last, noProcess(h.pid)
		}
		stale = stale || moved
	}
	for try := 0; try < 3; try++ {
		if stale {
			h.resolve()
		}
		if stale = !h.poll(); !stale {
			break
		}
	}
	if h.pid != 0 && gone(h.status.err) {
		return h.last, noProcess(h.pid)
	}
	return h.last, nil
}

// open opens the probe's file. A file that is not there is no error: a
// controller that is off, the root group, an older kernel.
func (p *probe) open(t tree) {
	p.close()
	p.f, p.err = t.open(p.name)
	p.text = p.text[:0]
}

func (p *probe) close() {
	if p.f != nil {
		p.f.close()
		p.f = nil
	}
}

// read reads the file and reports whether it says something else than before.
func (p *probe) read(h *Handle) (changed bool) {
	if p.f == nil {
		return false
	}
	n, err := p.f.readAt(h.scratch, 0)
	text := h.scratch[:n]
	if n == len(h.scratch) && err == nil {
		text, err = readWhole(p.f, h.scratch)
		h.scratch = text[:cap(text)]
	}
	if err != nil {
		changed = p.err == nil || !gone(p.err)
		p.err, p.text = err, p.text[:0]
		return changed
	}
	if p.err == nil && bytes.Equal(text, p.text) {
		return false
	}
	p.err, p.text = nil, append(p.text[:0], text...)
	return true
}

func (p *probe) missing() bool { return p.f == nil && isNotExist(p.err) }

// appeared reports whether a limit file that was missing is there now.
func (h *Handle) appeared() bool {
	try := func(p *probe) bool {
		if !p.missing() {
			return false
		}
		f, err := h.tree.open(p.name)
		if err != nil {
			return false
		}
		f.close()
		return true
	}
	for i := range h.cpu {
		if try(&h.cpu[i].quota) {
			return true
		}
	}
	for i := range h.memory {
		if try(&h.memory[i].limit) {
			return true
		}
	}
	return false
}

// poll reads every open file once and brings h.last up to date. It reports
// false when a cgroup is gone, so that everything must be resolved again.
func (h *Handle) poll() bool {
	first := h.last.CPU.Levels == nil && h.last.Unknown == nil
	changed, whole := first, true
	for i := range h.cpu {
		l := &h.cpu[i]
		if h.readQuota(l) {
			changed = true
		}
		if gone(l.quota.err) {
			whole = false
		}
	}
	for i := range h.memory {
		m := &h.memory[i]
		a, b, c := m.limit.read(h), m.high.read(h), m.sum.read(h)
		if a || b || c {
			changed = true
		}
		if gone(m.limit.err) {
			whole = false
		}
	}
	cpus := h.affinity()
	if cpus != h.last.CPU.Affinity {
		changed = true
	}
	if changed {
		h.evaluate(cpus)
	}
	if h.count != nil {
		h.count(h)
	}
	return whole
}

// readQuota reads one level's bandwidth limit and reports whether it changed.
// v1 keeps it in two files, and whoever changes it writes one after the other:
// a pair counts only when the quota reads the same before and after the period.
func (h *Handle) readQuota(l *cpuLevel) bool {
	changed := l.quota.read(h)
	if !l.v1 {
		return changed
	}
	if l.period.read(h) {
		changed = true
	}
	if l.torn && !changed {
		l.torn = false
		return true
	}
	if changed {
		l.torn = true
		for try := 0; try < 5 && l.torn; try++ {
			if l.torn = l.quota.read(h); l.torn {
				l.period.read(h)
			}
		}
	}
	return changed
}

// affinity asks the kernel where that can be done, else the status file.
func (h *Handle) affinity() Value[int] {
	if h.tree.live() && h.pid == 0 {
		return affinity(0)
	}
	if h.status.f == nil && !h.status.missing() {
		h.status.open(h.tree)
	}
	h.status.read(h)
	return parseAffinity(h.status.text)
}
