// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// Setter says who chose the value of a setting.
type Setter struct {
	By By
	// Detail names the linked modules that may have chosen the value, or says why it is
	// unknown; "" = nothing to add.
	Detail string
}

// By is who chose a value, as a constant.
type By string

// Who may have chosen a value.
const (
	ByUnknown     By = ""
	ByEnvironment By = "environment"
	ByCode        By = "code"
	// ByRuntime is the runtime, from CPUs and the cgroup's quota (Go 1.25 and later). It keeps
	// following them unless updatemaxprocs=0.
	ByRuntime By = "runtime, container-aware"
	// ByHostCPUs is the runtime, only from the CPUs it may run on.
	ByHostCPUs By = "host CPUs"
	// ByDefault means unset: GOGC is 100, GOMEMLIMIT is none.
	ByDefault By = "default"
)

// CPUClasses holds the runtime's classes of the time that GOMAXPROCS CPUs would have had from
// the start to the last collection (runtime/metrics, /cpu/classes/). It is wall time of Ps, not
// the CPU time that the kernel gave the threads.
type CPUClasses struct {
	GCAssist, GCDedicated, GCIdle, GCPause, GCTotal time.Duration
	// Scavenge is the time for returning memory to the kernel.
	Scavenge          time.Duration
	Idle, User, Total time.Duration
}

// Facts holds what is known about a Go process from outside.
type Facts struct {
	Pid int
	// Err says why there are no facts; nil = there are. It is proc.ErrGone, or proc.ErrDenied if
	// not even the executable may be read, so that it is unknown whether it is a Go program.
	Err error
	// Hint says on one line what would make more figures known; "" = nothing is missing, or
	// nothing would help.
	Hint string

	// Stat and Status come from the kernel. What could not be read is zero, and UID is then -1.
	Stat   proc.Stat
	Status proc.Status
	// CPUs is how many CPUs it may run on; 0 = unknown.
	CPUs int

	// Path is the path of the executable; "" = unknown. If the file cannot be reached from
	// here, it is the path in the process's own mount namespace. It may hold any bytes.
	// Deleted reports that the file no longer exists, as after an upgrade.
	Path    string
	Deleted bool
	// Exe describes the executable. If Exe.IsGo is false, nothing below but Guest is set.
	Exe Exe
	// Guest is Go code beside the executable. Look does not look for it, see [Cache.Guest].
	Guest Guest
	// Env holds the variables that Go and snug read, as they were at exec; nil = unknown.
	Env map[string]string

	GOMAXPROCS   figure.Of[int]
	GOMAXPROCSBy Setter
	// GOGC is in percent; -1 = off.
	GOGC   figure.Of[int]
	GOGCBy Setter
	// GOMEMLIMIT is in bytes.
	GOMEMLIMIT   figure.Of[int64]
	GOMEMLIMITBy Setter

	// All three are bytes of objects. HeapLive was allocated or marked since the last
	// collection. HeapMarked is what that collection found in use. HeapGoal is the heap goal of
	// the next collection; none with GOGC off and no limit.
	HeapLive, HeapMarked, HeapGoal figure.Of[uint64]
	// LastGoal is the heap goal of the last collection in bytes: the heap in which it found
	// HeapMarked. A collection that the runtime starts every two minutes does not wait for it.
	LastGoal figure.Of[uint64]
	// Mapped is all memory that the runtime holds, in bytes: what GOMEMLIMIT bounds. Known since
	// Go 1.19.
	Mapped figure.Of[uint64]
	// Allocated is the size of all objects since the start, in bytes. Ps add the small ones by the span, so it lags by
	// some hundred KiB. Known since Go 1.19.
	Allocated figure.Of[uint64]
	// Collections is the number of completed collections.
	Collections figure.Of[uint32]
	// PauseTotal is how long collections stopped all goroutines.
	PauseTotal figure.Of[time.Duration]
	// GCCPUFraction is the share of the available CPU time that collections took, from the
	// start to the last collection.
	GCCPUFraction figure.Of[float64]
	// CPU is known since Go 1.21.
	CPU figure.Of[CPUClasses]
	// IdlePs and SpinningPs are counts at this moment. All other Ps are busy; a spinning P looks
	// for work.
	IdlePs, SpinningPs figure.Of[int]
	// Goroutines is runtime.NumGoroutine: without the runtime's own.
	Goroutines figure.Of[int]
	// SchedLatency holds how long goroutines were runnable before they ran, since the start
	// (runtime/metrics, /sched/latencies). The runtime measures one in eight.
	SchedLatency figure.Of[Durations]
	// GCStops holds how long each stop of all goroutines for a collection took
	// (/sched/pauses/total/gc, before Go 1.22 /gc/pauses). A collection has two.
	GCStops figure.Of[Durations]

	image *image
	reads []proc.Range // of its memory
}

// Look reads what can be known about a process without stopping it. Share files between calls.
// Look does not close p.
//
// All facts belong to one program. If the process ends or execs during Look, Err is proc.ErrGone
// and nothing else is set.
func Look(p *proc.Process, files *Cache) *Facts { return lookAt(p, files, true) }

// LookOutside is Look without the process's memory, so it does not need the right to attach.
// GOMAXPROCS, GOGC and GOMEMLIMIT come from the environment; they are unknown if unset there.
func LookOutside(p *proc.Process, files *Cache) *Facts { return lookAt(p, files, false) }

func lookAt(p *proc.Process, files *Cache, memory bool) *Facts {
	f := &Facts{Pid: p.Pid(), Stat: p.First(), Status: proc.Status{UID: -1}}
	if now, err := p.Stat(); err == nil {
		f.Stat = now
	}
	err := f.look(p, files, memory)
	// In the middle of an exec anything may fail: that is not an error of either program.
	if same := p.Same(); err == nil || errors.Is(same, proc.ErrGone) {
		err = same
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
		// Without permission, return the figures that any user may read.
		f.Status, _ = status(p)
		f.unknown("executable and memory cannot be read")
		return err
	}
	f.Exe = known.exe
	if !f.Exe.IsGo {
		return nil
	}
	if f.Path, f.Deleted, err = p.Exe(); err != nil {
		f.unknown("the name of its executable cannot be read")
		return err
	}
	f.Status, _ = status(p)
	f.CPUs, _ = p.Affinity(0)
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
		f.unknown("load address is unknown")
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
	g := gather(p, mem, nil)
	r := &reader{mem: g, image: im, bias: entry - im.Entry, pid: f.Pid}
	if why := r.badBias(); why != "" {
		f.unknown(why)
		return nil
	}
	r.read(f)
	f.who(r.custom())
	f.reads = g.reads
	g.done()
	return nil
}

// status returns proc's Status. Its UID is -1 if unknown.
func status(p *proc.Process) (proc.Status, error) {
	s, err := p.Status()
	if err != nil {
		s = proc.Status{UID: -1}
	}
	return s, err
}

// hint keeps the first hint.
func (f *Facts) hint(err error) {
	var denied *proc.Denied
	if f.Hint == "" && errors.As(err, &denied) {
		f.Hint = denied.Hint()
	}
}

// unknown sets the reason of every unknown figure.
func (f *Facts) unknown(why string) {
	for _, n := range []interface{ Because(string) }{
		&f.GOMAXPROCS, &f.GOGC, &f.GOMEMLIMIT, &f.HeapLive, &f.HeapMarked, &f.HeapGoal, &f.LastGoal, &f.Mapped, &f.Allocated,
		&f.Collections, &f.PauseTotal, &f.GCCPUFraction, &f.CPU, &f.IdlePs, &f.SpinningPs,
		&f.Goroutines, &f.SchedLatency, &f.GCStops,
	} {
		n.Because(why)
	}
	for _, s := range []*Setter{&f.GOMAXPROCSBy, &f.GOGCBy, &f.GOMEMLIMITBy} {
		s.Detail = why
	}
}
