// SPDX-License-Identifier: Apache-2.0

// Package sense reads what the process says about itself: the Go runtime's
// heap and scheduler figures, its CPU time, and how long its threads wait for a
// CPU. It stops nothing, sets nothing and, after the first time, allocates
// nothing.
package sense

import (
	"math"
	"runtime"
	"runtime/metrics"

	"github.com/snug-go/snug/internal/law"
)

// A Sensor reads this process's figures. It is not safe for concurrent use.
type Sensor struct {
	heap   [len(heapNames)]metrics.Sample
	mapped [2]metrics.Sample
	cpu    [len(cpuNames)]metrics.Sample
	waits  threads
}

// The order is that of Heap.
var heapNames = [...]string{
	"/memory/classes/total:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/objects:bytes",
	"/gc/heap/live:bytes",
	"/gc/scan/stack:bytes",
	"/gc/scan/globals:bytes",
	"/gc/heap/goal:bytes",
	"/gc/gomemlimit:bytes",
	"/gc/gogc:percent",
	"/gc/cycles/total:gc-cycles",
}

// The order is that of CPU.
var cpuNames = [...]string{
	"/cpu/classes/gc/total:cpu-seconds",
	"/cpu/classes/user:cpu-seconds",
	"/cpu/classes/scavenge/total:cpu-seconds",
	"/cpu/classes/idle:cpu-seconds",
	"/sched/latencies:seconds",
}

// New makes a Sensor. It opens no file before KernelWait is asked for.
func New() *Sensor {
	s := &Sensor{}
	name(s.heap[:], heapNames[:])
	name(s.mapped[:], heapNames[:2])
	name(s.cpu[:], cpuNames[:])
	s.waits.init("/proc/self/task")
	return s
}

func name(samples []metrics.Sample, names []string) {
	for i := range samples {
		samples[i].Name = names[i]
	}
}

// Close gives the open files back. A later KernelWait opens them again.
func (s *Sensor) Close() { s.waits.close() }

// Heap reads all figures of h at one moment. Where this Go lacks one of them
// none is known: they are all -1, and Cycles is 0.
func (s *Sensor) Heap(h *law.Heap) {
	metrics.Read(s.heap[:])
	var v [len(heapNames)]int64
	for i := range s.heap {
		n, ok := count(&s.heap[i].Value)
		if !ok {
			*h = law.Heap{Mapped: -1, Free: -1, Objects: -1, Live: -1, Stacks: -1, Globals: -1, Goal: -1, Limit: -1, GOGC: -1}
			return
		}
		v[i] = n
	}
	*h = law.Heap{
		Mapped: max(0, v[0]-v[1]), Free: v[2], Objects: v[3],
		Live: v[4], Stacks: v[5], Globals: v[6], Goal: v[7],
		Limit: v[8], GOGC: v[9], Cycles: uint64(v[10]),
	}
}

// Mapped is Heap.Mapped alone, to be read before and after something else: the
// smaller of the two cannot hold what came between. -1 = unknown.
func (s *Sensor) Mapped() int64 {
	metrics.Read(s.mapped[:])
	total, ok1 := count(&s.mapped[0].Value)
	released, ok2 := count(&s.mapped[1].Value)
	if !ok1 || !ok2 {
		return -1
	}
	return max(0, total-released)
}

// CPU reads GOMAXPROCS, the CPU time used and what the scheduler counts, and
// leaves the rest of c alone but for KernelWait, which is NaN: see there. What
// cannot be read is NaN. GC and Busy grow only when a collection ends.
func (s *Sensor) CPU(c *law.CPU) {
	metrics.Read(s.cpu[:])
	c.Procs = runtime.GOMAXPROCS(0)
	c.Used = used()
	c.GC = seconds(&s.cpu[0].Value)
	c.Busy = c.GC + seconds(&s.cpu[1].Value) + seconds(&s.cpu[2].Value)
	if c.Idle = seconds(&s.cpu[3].Value); math.IsNaN(c.Idle) {
		c.Idle = 0
	}
	c.GoWait, c.Wakeups = latencies(&s.cpu[4].Value)
	c.KernelWait = math.NaN()
}

// KernelWait is how long the threads of this process have waited for a CPU
// since they began, in seconds, as far as it was looked at while they lived: the
// sum of the second field of /proc/self/task/TID/schedstat (kernel doc:
// scheduler/sched-stats.rst). It never falls, also when threads end. NaN = it
// cannot be read: another system, or a kernel that does not count it. threads is
// how many were looked at, which is what it costs: about 5 us of CPU time for each.
func (s *Sensor) KernelWait() (seconds float64, threads int) {
	seconds = s.waits.read()
	return seconds, s.waits.count()
}

// count is a metric that counts. GOGC=off comes as the two's complement of -1.
func count(v *metrics.Value) (int64, bool) {
	if v.Kind() != metrics.KindUint64 {
		return -1, false
	}
	return int64(v.Uint64()), true
}

func seconds(v *metrics.Value) float64 {
	if v.Kind() != metrics.KindFloat64 {
		return math.NaN()
	}
	return v.Float64()
}

// tracked is how many times the runtime lets a goroutine stop running for each
// time it measures how long it then waits (runtime/runtime2.go, gTrackingPeriod).
const tracked = 8

func latencies(v *metrics.Value) (wait, wakeups float64) {
	if v.Kind() != metrics.KindFloat64Histogram {
		return math.NaN(), math.NaN()
	}
	h := v.Float64Histogram()
	var n uint64
	for i, c := range h.Counts {
		if c == 0 {
			continue
		}
		n += c
		wait += float64(c) * middle(h.Buckets[i], h.Buckets[i+1])
	}
	return tracked * wait, tracked * float64(n)
}

// middle stands for all waits in a bucket. Its first bucket holds what a clock
// that steps back made negative, which was no wait; the last has no end, and
// what is known of it is where it begins (runtime/histogram.go).
func middle(from, to float64) float64 {
	switch {
	case math.IsInf(from, -1):
		return max(0, min(0, to))
	case math.IsInf(to, 1):
		return from
	}
	return (from + to) / 2
}
