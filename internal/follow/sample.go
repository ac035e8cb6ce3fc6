// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"math"
	"time"

	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/limits"
)

const (
	// window is the time over which waiting is measured for a verdict, in seconds.
	window = 10
	// sample is the shortest time between two samples of CPU time, in seconds.
	sample = 0.45
)

// A Machine is what a Measuring reads: this process, or a test's.
type Machine interface {
	Limits(*limits.Limits)
	Heap(*law.Heap)
	Mapped() int64
	CPU(c *law.CPU, sealed bool)
	KernelWait() (seconds float64, threads int)
	Sealed() bool // see limits.Sealed
	Close()
}

// reading is what the loop's goroutine reads without the lock, so that Stats and Latest need not
// wait for files.
type reading struct {
	heap       law.Heap
	cpu        law.CPU
	sampled    bool    // cpu is new
	changed    bool    // the limits may lead to another decision
	used       int64   // bytes of the group that cannot be reclaimed; -1 = unknown
	kernelNext float64 // when KernelWait may be read again
	shut       bool    // its files may not be opened, or no more
}

// read reads everything. It reads Go's memory before and after the group's, and uses the smaller
// value, because both move.
func (m *Measuring) read(at float64, first bool) {
	r := &m.now
	m.machine.Heap(&r.heap)
	m.machine.Limits(&m.next)
	if n := m.machine.Mapped(); n >= 0 {
		r.heap.Mapped = min(r.heap.Mapped, n)
	}
	r.used = -1
	if n, ok := m.next.Memory.Unreclaimable.Get(); ok {
		r.used = n
	}
	m.steady()
	r.changed = !same(&m.next, &m.cfg.Input.Limits)
	if r.sampled = first || at-m.cpu.At >= sample; r.sampled {
		m.sampleCPU(at, first)
	}
}

// take takes what was read.
func (m *Measuring) take(at float64, first bool) {
	r := &m.now
	if m.used = r.used; r.heap.Mapped >= 0 { // this runtime reports it
		m.heap = r.heap
	}
	if !r.sampled {
		return
	}
	before := m.cpu
	m.cpu = r.cpu
	ends := at-m.from.At >= window
	if ends && !first {
		old := m.waiting.Verdict
		m.waiting = law.Measure(&m.from, &m.cpu)
		if v := m.waiting.Verdict; v != old && max(v, old) >= law.TooFewPs { // one to act on, or no longer
			m.dirty, m.news = true, true
		}
	}
	if first || ends {
		m.from = m.cpu
	}
	switch {
	case first:
	case m.cpu.Used-before.Used > idleCores*(at-before.At): // not if unknown
		m.quiet = 0
	default:
		m.quiet++
	}
}

func (m *Measuring) sampleCPU(at float64, first bool) {
	c, l := &m.now.cpu, &m.next.CPU
	m.machine.CPU(c, m.machine.Sealed())
	c.At, c.CPUs = at, l.Affinity.N
	c.Cores, c.Quota = l.Cores.N, l.Quota.N // 0 if unknown
	c.Periods, c.Throttled = count(l.Throttle.Periods), count(l.Throttle.Throttled)
	c.KernelWait = math.NaN()
	if first || at-m.from.At >= window {
		m.kernelWait(at)
	}
}

// kernelShare is the fraction of a CPU to spend on reading how long threads wait, and kernelCost
// the estimated CPU seconds per thread. Measured wall time would not do: while a process is
// throttled it grows, and the next reading would be minutes away.
const (
	kernelShare = 1.0 / 2000
	kernelCost  = 5e-6
)

// kernelWait reads how long threads have waited, unless reading so many would cost too much.
func (m *Measuring) kernelWait(at float64) {
	r := &m.now
	if at < r.kernelNext || r.shut {
		return
	}
	if r.shut = m.machine.Sealed(); r.shut {
		fit.Sealed()
		return
	}
	seconds, threads := m.machine.KernelWait()
	r.cpu.KernelWait = seconds
	r.kernelNext = at + kernelCost*float64(threads)/kernelShare - sample
}

func count(v limits.Value[int64]) int64 {
	if n, ok := v.Get(); ok {
		return n
	}
	return -1
}

// same reports whether two readings lead to the same decision.
func same(a, b *limits.Limits) bool {
	ac, bc, am, bm := &a.CPU, &b.CPU, &a.Memory, &b.Memory
	if ac.Quota != bc.Quota || ac.Affinity != bc.Affinity || ac.QuotaSource != bc.QuotaSource ||
		am.Hard != bm.Hard || am.Soft != bm.Soft || am.HardSource != bm.HardSource || am.SoftSource != bm.SoftSource ||
		len(ac.Levels) != len(bc.Levels) || len(a.Warnings) != len(b.Warnings) {
		return false
	}
	for i := range ac.Levels { // the runtime uses the first
		if ac.Levels[i].Quota != bc.Levels[i].Quota {
			return false
		}
	}
	return true
}

// rhythm returns the time until the next poll: what the laws need, and longer while the process is
// idle. next is in seconds.
func (m *Measuring) rhythm(next float64) time.Duration {
	pending := m.pending()
	if pending {
		next = min(next, law.Settle)
	}
	if m.level > law.Calm { // a growing heap soon reaches the next level
		next = min(next, 0.25)
	}
	d := time.Duration(next * float64(time.Second))
	if d >= m.cfg.Poll && m.level == law.Calm && !pending {
		d = m.cfg.Poll * time.Duration(min(1+m.quiet/8, maxIdleFactor))
	}
	return max(d, time.Millisecond)
}
