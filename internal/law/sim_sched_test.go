// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math/rand/v2"

	"github.com/snug-go/snug/internal/law"
)

// Tick is the simulated time of one step of Sched, in seconds.
const Tick = 0.0005

// Sched is a simulated machine with one Go program under a bandwidth quota. The program serves
// requests: each needs CPU, and may then block in a system call. You may change any exported field
// between steps.
//
//	m := NewSched(1)
//	m.CPUs, m.Quota, m.Rate, m.CPU, m.Call = 2, 0.5, 900, 0.00024, 0.004
//	m.SetProcs(2)
//	m.Run(10)
//	m.Collapse()
//	m.Run(5)
//	c := m.Sample()
//
// Work flows as a fluid, with noise. Sched models the quota's periods and the stalls that follow,
// T(1-q/N) long for N Ps that are always runnable; neighbours that share the CPUs evenly, per
// thread; and the runtime's monitor. Awake, the monitor retakes Ps from system calls at once.
// Asleep, it retakes none, so at most P calls run at a time. It falls asleep in a stall of Doze
// while work waits, or by Collapse, and wakes when the queue is empty and Ps are idle
// (runtime/proc.go, sysmon and retake). Sched does not model the order of requests: the mean wait
// is right, its distribution is not.
type Sched struct {
	CPUs    float64 // of the machine
	Quota   float64 // cores; 0 = none
	Period  float64 // of the quota, in seconds; 0 = 0.1
	Rate    float64 // requests per second
	CPU     float64 // seconds of CPU per request
	Call    float64 // seconds that each request then blocks in a system call; 0 = none
	Burst   float64 // requests arrive in bursts, one per this many seconds; 0 = evenly
	Others  float64 // threads of neighbours that always want a CPU
	GCEvery float64 // seconds between collections; 0 = 2
	GCWork  float64 // seconds of CPU per collection, on a quarter of the Ps
	Doze    float64 // seconds of a stall that puts the monitor to sleep; 0 = only Collapse does
	Noise   float64 // relative, of arrivals
	Misread float64 // relative error of each reading of a wait

	At      float64 // simulated seconds
	Done    float64 // requests served
	Queue   float64 // requests that have or wait for a P
	Asleep  bool    // the monitor
	Changes int     // of GOMAXPROCS
	Stall   float64 // the longest time that work got no CPU, in seconds

	procs   int
	calls   float64 // requests in system calls
	gcLeft  float64 // CPU seconds left of the running collection
	nextGC  float64
	budget  float64 // CPU seconds left in this period
	edge    float64 // when the period ends
	refused bool    // the period's quota was used up
	stalled float64 // seconds without CPU so far
	paused  float64 // end of the stop of the world
	due     float64 // arrivals collected for the next burst
	nextAt  float64 // time of the next burst

	c          law.CPU
	ages       float64 // total time that the waiting requests have waited
	goWait     float64 // the true value; readings have errors
	kernelWait float64
	readGo     float64 // true value at the last reading, and the reading
	readKernel float64
	busy, idle float64 // seconds of Ps
	rng        *rand.Rand
}

// NewSched returns a machine of two CPUs with one P and no load.
func NewSched(seed uint64) *Sched {
	return &Sched{CPUs: 2, procs: 1, rng: rand.New(rand.NewPCG(seed, 7))}
}

// SetProcs sets GOMAXPROCS, which stops the world for up to 20 ms. It does nothing for 0 and for the
// current value.
func (m *Sched) SetProcs(n int) {
	if n > 0 && n != m.procs {
		m.procs = n
		m.Changes++
		m.paused = m.At + 0.02*m.rng.Float64()
	}
}

// Procs returns GOMAXPROCS.
func (m *Sched) Procs() int { return m.procs }

// Collapse puts the runtime's monitor to sleep.
func (m *Sched) Collapse() { m.Asleep = true }

// Run advances the machine by some seconds.
func (m *Sched) Run(seconds float64) {
	for end := m.At + seconds - Tick/2; m.At < end; {
		m.step()
	}
}

// Sample returns what the program can read about itself now.
func (m *Sched) Sample() law.CPU {
	m.c.At, m.c.Procs, m.c.Quota, m.c.Cores = m.At, m.procs, m.Quota, m.CPUs
	m.c.CPUs = int(m.CPUs)
	if m.Quota > 0 {
		m.c.Cores = min(m.Quota, m.CPUs)
	}
	m.c.GoWait += m.misread(m.goWait - m.readGo)
	m.c.KernelWait += m.misread(m.kernelWait - m.readKernel)
	m.readGo, m.readKernel = m.goWait, m.kernelWait
	c := m.c
	if m.Quota <= 0 {
		c.Periods, c.Throttled = -1, -1
	}
	return c
}

func (m *Sched) misread(v float64) float64 {
	if m.Misread == 0 {
		return v
	}
	return v * max(0, 1+m.Misread*m.rng.NormFloat64())
}

func (m *Sched) step() {
	m.At += Tick
	m.arrive()
	m.collect()
	m.tick()
	p := float64(m.procs)
	free := p
	if m.Asleep {
		free = max(0, p-m.calls)
	}
	// threads is the number that want a CPU, speed the share of one that each gets, cpu the
	// CPU time of all of them in this step.
	marking := 0.0
	if m.gcLeft > 0 {
		marking = max(1, p/4)
	}
	threads := min(free, m.Queue+marking)
	speed := min(1, m.CPUs/max(threads+m.Others, 1e-9))
	if m.At < m.paused || m.Quota > 0 && m.budget <= 0 {
		speed = 0
	}
	work := m.Queue * m.CPU
	if m.Asleep {
		work = min(work, free*m.CPU) // each enters a call with the request it has
	}
	cpu := min(threads*speed*Tick, work+m.gcLeft)
	have := threads // Ps that run or wait for a CPU
	if speed > 0 {
		have = cpu / (speed * Tick)
	}
	m.ages += max(0, m.Queue-have) * Tick
	m.kernelWait += have * (1 - speed) * Tick
	m.serve(cpu, work)
	m.spend(cpu, threads)

	held := 0.0
	if m.Asleep {
		held = min(m.calls, p-have)
	}
	m.busy += (have + held) * Tick
	m.idle += (p - have - held) * Tick
	m.monitor(p)
}

// arrive adds arriving requests.
func (m *Sched) arrive() {
	n := m.Rate * Tick
	if m.Noise > 0 {
		n *= max(0, 1+m.Noise*m.rng.NormFloat64())
	}
	if m.Burst > 0 {
		m.due += n
		if n = 0; m.At >= m.nextAt {
			n, m.due, m.nextAt = m.due, 0, m.At+m.Burst
		}
	}
	m.Queue += n
}

// collect starts collections, with which the classes of CPU time advance.
func (m *Sched) collect() {
	if m.At < m.nextGC {
		return
	}
	m.nextGC = m.At + 2
	if m.GCEvery > 0 {
		m.nextGC = m.At + m.GCEvery
	}
	m.gcLeft += m.GCWork
	m.c.Busy, m.c.Idle = m.busy, m.idle
}

// tick begins a new period of the quota when it is due.
func (m *Sched) tick() {
	if m.At < m.edge {
		return
	}
	period := 0.1
	if m.Period > 0 {
		period = m.Period
	}
	if m.edge > 0 && m.Quota > 0 {
		m.c.Periods++
		if m.refused {
			m.c.Throttled++
		}
	}
	m.refused = false
	m.budget = m.Quota*period + min(0, m.budget) // an overrun in the last step is subtracted
	m.edge += period
	if m.edge < m.At {
		m.edge = m.At + period
	}
}

// serve turns CPU time into progress of requests. Collections take their share first, up to a
// quarter if both need CPU.
func (m *Sched) serve(cpu, work float64) {
	gc := min(m.gcLeft, max(cpu/4, cpu-work))
	m.gcLeft -= gc
	m.c.GC += gc
	ended := min(m.calls, m.calls*Tick/max(m.Call, Tick))
	m.calls -= ended
	m.Done += ended
	through := m.Queue
	if m.CPU > 0 {
		through = min(m.Queue, (cpu-gc)/m.CPU)
	}
	// A wait is counted when it ends, as in the runtime. In a queue served in order, the oldest
	// request has waited twice as long as the mean.
	waited := m.ages
	if m.Queue > 0 {
		waited = min(waited, 2*waited*through/m.Queue)
	}
	m.ages -= waited
	m.goWait += waited
	m.c.Wakeups += through
	m.Queue -= through
	if m.Call > 0 {
		m.calls += through
	} else {
		m.Done += through
	}
}

// spend accounts for CPU time, and records stalls.
func (m *Sched) spend(cpu, threads float64) {
	m.c.Used += cpu
	m.budget -= cpu
	if m.Quota > 0 && m.budget <= 0 && threads > 0 {
		m.refused = true
	}
	if threads > 0 && cpu == 0 {
		m.stalled += Tick
		m.Stall = max(m.Stall, m.stalled)
	} else {
		m.stalled = 0
	}
}

// monitor simulates the runtime's monitor falling asleep and waking.
func (m *Sched) monitor(p float64) {
	switch {
	case m.Asleep:
		m.Asleep = m.Queue >= 0.5 || m.calls > p-0.5
	case m.Doze > 0 && m.Call > 0 && m.stalled >= m.Doze && m.Queue > p:
		m.Asleep = true
	}
}
