// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// IsGo reports whether an executable is a Go program, if a process that ran it was
// looked at.
func (c *Cache) IsGo(id proc.FileID) (is, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.programs[id]
	if p == nil {
		return false, false
	}
	return p.exe.IsGo, true
}

// Len is how many executables are remembered.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.programs)
}

// Again looks at the same process once more, for a small part of what a look costs: it
// reads what the kernel counts and what the runtime keeps in memory but for what Ps do at
// this moment, and takes over what stays for as long as a program runs: executable,
// environment, and the CPUs that it may run on, which may have changed. p is the process
// that f was made of, still open.
//
// When the process has ended, or runs another program, Err is proc.ErrGone and nothing
// else is set.
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

// Resting is the same for a process that has done nothing since f was made, as far as
// proc.Stat.Still tells, for one system call: what was in its memory is taken over. nil is
// one that has done something, or has ended.
func (f *Facts) Resting(p *proc.Process) *Facts {
	stat, err := p.Stat()
	if err != nil || !stat.Still(&f.Stat) {
		return nil
	}
	now := *f
	now.Stat = stat
	return &now
}

func (f *Facts) again(p *proc.Process, before *Facts) error {
	var err error
	if f.Stat, err = p.Stat(); err != nil {
		return err
	}
	if f.image == nil {
		// Nothing of it is in memory, or nothing that can be read.
		stat := f.Stat
		*f = *before
		f.Stat = stat
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
	r := &reader{mem: mem, image: f.image, bias: entry - f.image.Entry, pid: f.Pid}
	r.counters(f)
	f.who(r.custom())
	const why = "it is not asked for again"
	f.IdlePs.Because(why)
	f.SpinningPs.Because(why)
	if f.GOMAXPROCS.Known() && f.GOGC.Known() && f.Collections.Known() {
		return nil // an address space that is gone cannot be read at all
	}
	return p.Same()
}
