// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// IsGo reports whether an executable is a Go program. known is false if no process that runs it
// was read.
func (c *Cache) IsGo(id proc.FileID) (is, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.programs[id]
	if p == nil {
		return false, false
	}
	return p.exe.IsGo, true
}

// Len returns how many executables are cached.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.programs)
}

// Again reads the same process once more, at a small part of the cost of Look. It reads the
// kernel's counters and the runtime's figures in memory, except for the counts of idle and
// spinning Ps. It copies what stays the same while a program runs: the executable and the
// environment. p is the process that f was read from, still open.
//
// If the process has ended or runs another program, Err is proc.ErrGone and nothing else is
// set.
func (f *Facts) Again(p *proc.Process) *Facts {
	now := &Facts{
		Pid: f.Pid, Err: f.Err, Hint: f.Hint, Status: f.Status, CPUs: f.CPUs,
		Path: f.Path, Deleted: f.Deleted, Exe: f.Exe, Env: f.Env, image: f.image,
	}
	err := now.again(p, f)
	if errors.Is(err, proc.ErrGone) {
		return &Facts{Pid: f.Pid, Err: err, Status: proc.Status{UID: -1}}
	}
	return now
}

// Rests reports whether a process has done nothing since f was read, by proc.Stat.Still: f still
// holds. It costs one system call. It is false if the process has ended.
func (f *Facts) Rests(p *proc.Process) bool { return p.Still(&f.Stat) }

func (f *Facts) again(p *proc.Process, before *Facts) error {
	stat, cpus, err := p.StatAffinity(before.CPUs)
	if err != nil {
		return err
	}
	if f.Stat = stat; cpus > 0 {
		f.CPUs = cpus
	}
	if f.image == nil {
		// There are no figures in its memory, or they cannot be read.
		cpus = f.CPUs
		*f = *before
		f.Stat, f.CPUs = stat, cpus
		return p.Same()
	}
	mem, err := p.Memory()
	if err != nil {
		return p.Same()
	}
	entry, err := p.AuxEntry()
	if err != nil {
		return p.Same()
	}
	g := gather(p, mem, before.reads)
	r := &reader{mem: g, image: f.image, bias: entry - f.image.Entry, pid: f.Pid}
	r.counters(f)
	f.who(r.custom())
	f.reads = g.keep(before.reads)
	g.done()
	const why = "it is not asked for again"
	f.IdlePs.Because(why)
	f.SpinningPs.Because(why)
	if f.GOMAXPROCS.Known() && f.GOGC.Known() && f.Collections.Known() {
		return nil // the address space is gone: it cannot be read
	}
	return p.Same()
}
