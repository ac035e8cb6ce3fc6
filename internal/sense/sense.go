// SPDX-License-Identifier: Apache-2.0

// Package sense reads the process's figures about itself: the Go runtime's heap and scheduler
// figures, its CPU time, and how long its threads wait for a CPU. It does not stop the world, sets
// nothing and, after the first reading, allocates nothing.
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

// In the order of Heap.
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

// In the order of CPU.
var cpuNames = [...]string{
	"/cpu/classes/gc/total:cpu-seconds",
	"/cpu/classes/user:cpu-seconds",
	"/cpu/classes/scavenge/total:cpu-seconds",
	"/cpu/classes/idle:cpu-seconds",
	"/sched/latencies:seconds",
}

// New returns a Sensor. It opens no file before the first KernelWait.
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

// Close closes the open files. A later KernelWait opens them again.
func (s *Sensor) Close() { s.waits.close() }

// Heap reads all figures of h at one moment. If this Go lacks one of them, all are unknown: -1,
// and Cycles is 0.
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

// Mapped returns Heap.Mapped alone. Read it before and after something else: the smaller of the
// two does not include what came between. -1 = unknown.
func (s *Sensor) Mapped() int64 {
	metrics.Read(s.mapped[:])
	total, ok1 := count(&s.mapped[0].Value)
	released, ok2 := count(&s.mapped[1].Value)
	if !ok1 || !ok2 {
		return -1
	}
	return max(0, total-released)
}

// CPU reads GOMAXPROCS, the scheduler's counters and, unless the process is sealed (limits.Sealed), the
// CPU time used. It sets KernelWait to NaN: see there. It leaves the rest of c alone. An unreadable figure is NaN. GC
// and Busy grow only
// when a collection ends.
func (s *Sensor) CPU(c *law.CPU, sealed bool) {
	metrics.Read(s.cpu[:])
	c.Procs = runtime.GOMAXPROCS(0)
	if c.Used = math.NaN(); !sealed {
		c.Used = used()
	}
	c.GC = seconds(&s.cpu[0].Value)
	c.Busy = c.GC + seconds(&s.cpu[1].Value) + seconds(&s.cpu[2].Value)
	if c.Idle = seconds(&s.cpu[3].Value); math.IsNaN(c.Idle) {
		c.Idle = 0
	}
	c.GoWait, c.Wakeups = latencies(&s.cpu[4].Value)
	c.KernelWait = math.NaN()
}

// KernelWait returns how long this process's threads have waited for a CPU since they began, in
// seconds, as far as it was read while they lived: the sum of the second field of
// /proc/self/task/TID/schedstat (kernel doc: scheduler/sched-stats.rst). It never falls, even when
// threads end. NaN = unreadable: another system, or a kernel that does not count it. threads is
// the number of threads read; each costs about 5 us of CPU time.
func (s *Sensor) KernelWait() (seconds float64, threads int) {
	seconds = s.waits.read()
	return seconds, s.waits.count()
}

// count returns a counter metric. GOGC=off is the two's complement of -1.
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

// tracked is how often a goroutine stops running for each time the runtime measures its following
// wait (runtime/runtime2.go, gTrackingPeriod).
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

// middle returns the wait that stands for a bucket. The first bucket holds negative waits of a
// clock that stepped back, which count as 0; the last has no end, so its start is used
// (runtime/histogram.go).
func middle(from, to float64) float64 {
	switch {
	case math.IsInf(from, -1):
		return max(0, min(0, to))
	case math.IsInf(to, 1):
		return from
	}
	return (from + to) / 2
}
