// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// Setter is who chose the value of a knob.
type Setter struct {
	By By
	// Detail names the modules that are linked in and may have been the code;
	// or says why it is not known. "" when there is nothing to add.
	Detail string
}

// By is who chose a value, for a program to compare.
type By string

// Who may have chosen a value.
const (
	ByUnknown     By = ""
	ByEnvironment By = "environment"
	ByCode        By = "code"
	// ByRuntime: the runtime, from CPUs and the cgroup's quota (Go 1.25 and
	// later), and it goes on following them unless updatemaxprocs=0.
	ByRuntime By = "runtime, container-aware"
	// ByHostCPUs: the runtime, from the CPUs it may run on and nothing else.
	ByHostCPUs By = "host CPUs"
	// ByDefault: nobody; GOGC is 100, GOMEMLIMIT is none.
	ByDefault By = "default"
)

// CPUClasses is how the runtime sorts the time that GOMAXPROCS CPUs would have
// had since the start, as of the last collection: runtime/metrics,
// /cpu/classes/. It counts time, not what the kernel let the threads run.
type CPUClasses struct {
	GCAssist, GCDedicated, GCIdle, GCPause, GCTotal time.Duration
	// Scavenge is giving memory back to the kernel.
	Scavenge          time.Duration
	Idle, User, Total time.Duration
}

// Facts are what a Go process looks like from outside.
type Facts struct {
	Pid int
	// Err is nil, or why there are no facts: proc.ErrGone, or proc.ErrDenied
	// when not even the executable may be looked at, so that nobody can tell
	// whether it is a Go program.
	Err error
	// Hint is what would make more known, on one line; "" when nothing is
	// lacking, or nothing would help.
	Hint string

	// Stat and Status are the kernel's; what could not be read is zero, and UID
	// then -1.
	Stat   proc.Stat
	Status proc.Status
	// CPUs is how many CPUs it may run on; 0 when unknown.
	CPUs int

	// Path is the executable's, in the process's own mount namespace where it
	// cannot be reached from here; "" when unknown. It may hold any bytes.
	// Deleted: the file is no longer there, as after an upgrade.
	Path    string
	Deleted bool
	// Exe is what the executable tells. Without IsGo, nothing below is set.
	Exe Exe
	// Env are the variables that set knobs, as they were at exec; nil when they
	// could not be read.
	Env map[string]string

	GOMAXPROCS   figure.Of[int]
	GOMAXPROCSBy Setter
	// GOGC is in percent; -1 is off.
	GOGC   figure.Of[int]
	GOGCBy Setter
	// GOMEMLIMIT is in bytes.
	GOMEMLIMIT   figure.Of[int64]
	GOMEMLIMITBy Setter

	// HeapLive is allocated or marked since the last collection, HeapMarked
	// what that collection found in use, HeapGoal how much there may be when the
	// next one is done, none with GOGC off and no limit: all bytes of objects.
	HeapLive, HeapMarked, HeapGoal figure.Of[uint64]
	// Mapped is what the runtime holds of the kernel's memory, heap and all else:
	// what GOMEMLIMIT bounds. Known since Go 1.19.
	Mapped figure.Of[uint64]
	// Collections is how many were completed.
	Collections figure.Of[uint32]
	// PauseTotal is the time that all goroutines were stopped by them.
	PauseTotal figure.Of[time.Duration]
	// GCCPUFraction is the share of the CPU time there was since the start that
	// collections took, as of the last one.
	GCCPUFraction figure.Of[float64]
	// CPU is known since Go 1.21.
	CPU figure.Of[CPUClasses]
	// IdlePs and SpinningPs are of this moment. Busy are all others,
	// searching for work are those that spin.
	IdlePs, SpinningPs figure.Of[int]

	image *image
}

// Look finds out what can be known of a process without stopping it; files is
// shared between looks. It does not close p.
//
// All facts are of one program: when the process ends or execs while it is
// looked at, Err is proc.ErrGone and nothing else is set.
func Look(p *proc.Process, files *Cache) *Facts { return lookAt(p, files, true) }

// LookOutside is Look without the process's memory, for which nobody needs the right to
// attach to it. The knobs are what the environment says, and unknown where it says
// nothing.
func LookOutside(p *proc.Process, files *Cache) *Facts { return lookAt(p, files, false) }

func lookAt(p *proc.Process, files *Cache, memory bool) *Facts {
	f := &Facts{Pid: p.Pid(), Stat: p.First(), Status: proc.Status{UID: -1}}
	if now, err := p.Stat(); err == nil {
		f.Stat = now
	}
	err := f.look(p, files, memory)
	if err == nil {
		err = p.Same()
	}
	if errors.Is(err, proc.ErrGone) {
		return &Facts{Pid: p.Pid(), Err: err, Status: proc.Status{UID: -1}}
	}
	f.Err = err
	f.hint(err)
	return f
}

func (f *Facts) look(p *proc.Process, files *Cache, memory bool) error {
	if f.Stat.Kernel {
		f.Exe.What = "a kernel thread"
		return nil
	}
	known, err := files.program(p)
	if err != nil {
		if errors.Is(err, proc.ErrNone) {
			f.Exe.What = "a process without an executable"
			return nil
		}
		// Whoever may not look still gets what everybody may see.
		f.Status, _ = status(p)
		f.unknown("executable and memory cannot be read")
		return err
	}
	f.Exe = known.exe
	if !f.Exe.IsGo {
		return nil
	}
	if f.Path, f.Deleted, err = p.Exe(); err != nil {
		return err
	}
	f.Status, _ = status(p)
	f.CPUs, _ = p.Affinity()
	if f.Env, err = p.Environ(); err != nil && errors.Is(err, proc.ErrGone) {
		return err
	}
	if !memory {
		f.asStarted()
		f.unknown("memory is not read")
		return nil
	}
	mem, err := p.Memory()
	if err != nil {
		f.asStarted()
		f.unknown("memory cannot be read")
		f.hint(err)
		if errors.Is(err, proc.ErrGone) {
			return err
		}
		return nil
	}
	entry, err := p.AuxEntry()
	if err != nil {
		f.unknown("load address is not known")
		return nil
	}
	im, err := files.image(p, known, f.Status.UID, mem, entry)
	if err != nil {
		if errors.Is(err, proc.ErrGone) {
			return err
		}
		f.unknown(err.Error())
		return nil
	}
	f.image = im
	r := &reader{mem: mem, image: im, bias: entry - im.Entry, pid: f.Pid}
	if why := r.badBias(); why != "" {
		f.unknown(why)
		return nil
	}
	r.read(f)
	f.who(r.custom())
	return nil
}

// status is proc's, with a UID that is -1 when it is not known.
func status(p *proc.Process) (proc.Status, error) {
	s, err := p.Status()
	if err != nil {
		s = proc.Status{UID: -1}
	}
	return s, err
}

// hint keeps the first advice.
func (f *Facts) hint(err error) {
	var denied *proc.Denied
	if f.Hint == "" && errors.As(err, &denied) {
		f.Hint = denied.Hint()
	}
}

// unknown gives every figure that is not known the same reason.
func (f *Facts) unknown(why string) {
	for _, n := range []interface{ Because(string) }{
		&f.GOMAXPROCS, &f.GOGC, &f.GOMEMLIMIT, &f.HeapLive, &f.HeapMarked, &f.HeapGoal, &f.Mapped,
		&f.Collections, &f.PauseTotal, &f.GCCPUFraction, &f.CPU, &f.IdlePs, &f.SpinningPs,
	} {
		n.Because(why)
	}
	for _, s := range []*Setter{&f.GOMAXPROCSBy, &f.GOGCBy, &f.GOMEMLIMITBy} {
		s.Detail = why
	}
}
