// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Stats is the state of a program's own runtime at one moment. Counters are cumulative;
// [Between] returns the difference.
//
// Reading it stops the world once (runtime.ReadMemStats), so read it before and after a
// window, never in it. No field counts that stop.
type Stats struct {
	PID        int     `json:"pid"`
	Uptime     float64 `json:"uptime_seconds"`
	Go         string  `json:"go"`
	GOMAXPROCS int     `json:"gomaxprocs"`
	NumCPU     int     `json:"num_cpu"`
	GOGC       int     `json:"gogc"`             // percent; -1 is off
	GOMEMLIMIT *int64  `json:"gomemlimit_bytes"` // nil is none
	Goroutines int     `json:"goroutines"`

	NumGC uint64 `json:"gc_cycles"`
	// GCCPU and TotalCPU are /cpu/classes/gc/total and /cpu/classes/total. They are
	// estimates of the runtime, updated at the end of each cycle: wall time times Ps, so
	// time in which the kernel held a thread back counts as used. TotalCPU is the
	// available CPU time, with idle time.
	GCCPU    float64 `json:"gc_cpu_seconds"`
	TotalCPU float64 `json:"total_cpu_seconds"`
	// STW is MemStats.PauseTotalNs: all stops for GC, both of each cycle, each from the
	// decision to stop until the world runs again. It does not include other stops.
	STW float64 `json:"stw_seconds"`
	// Pauses has the stopped time of the last cycles, newest last, at most 256:
	// MemStats.PauseNs. Both stops of a cycle are one number.
	Pauses []uint64 `json:"pauses_ns"`
	// Stops is the histogram of single stops, /sched/pauses/total/gc:seconds, without
	// empty classes. The runtime's classes are up to 25% wide.
	Stops finding.Histogram `json:"stops"`

	HeapLive int64 `json:"heap_live_bytes"` // marked by the last cycle; 0 before the first
	// PeakHeap is the largest heap seen since the previous Stats, or since the start:
	// live objects and garbage not yet swept. See heapPeak for its error.
	PeakHeap int64 `json:"heap_peak_bytes"`
}

// GC is what the garbage collector did between two Stats, which explain the fields.
type GC struct {
	Cycles   uint64  `json:"cycles"`
	CPU      float64 `json:"cpu_seconds"`
	TotalCPU float64 `json:"total_cpu_seconds"`
	STW      float64 `json:"stw_total_seconds"`
	// STWMax is the longest stop, 0 if there was none. With at most 256 cycles it is the
	// longest stopped time of a cycle, unless its class in the histogram of single stops
	// ends below that. With more cycles it is the end of that class, up to 25% too much.
	STWMax   float64 `json:"stw_max_seconds"`
	HeapLive int64   `json:"heap_live_bytes"` // at the end
	PeakHeap int64   `json:"heap_peak_bytes"`
}

var started = time.Now()

func readStats() Stats {
	peak := heap.take()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	samples := []metrics.Sample{
		{Name: "/gc/gogc:percent"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/sched/pauses/total/gc:seconds"},
	}
	metrics.Read(samples)
	s := Stats{
		PID: os.Getpid(), Uptime: time.Since(started).Seconds(),
		Go: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0), NumCPU: runtime.NumCPU(),
		GOGC:       int(int32(samples[0].Value.Uint64())), // an int32 in the runtime; -1 is off
		Goroutines: runtime.NumGoroutine(),
		NumGC:      uint64(m.NumGC), GCCPU: samples[2].Value.Float64(), TotalCPU: samples[3].Value.Float64(),
		STW:      time.Duration(m.PauseTotalNs).Seconds(),
		HeapLive: int64(samples[4].Value.Uint64()), PeakHeap: int64(peak),
	}
	if limit := int64(samples[1].Value.Uint64()); limit != math.MaxInt64 {
		s.GOMEMLIMIT = &limit
	}
	ring := uint64(len(m.PauseNs))
	for n := s.NumGC - min(s.NumGC, ring); n < s.NumGC; n++ {
		s.Pauses = append(s.Pauses, m.PauseNs[n%ring]) // of cycle n+1
	}
	stops := samples[5].Value.Float64Histogram()
	for i, n := range stops.Counts {
		if n > 0 {
			end := stops.Buckets[i+1]
			if math.IsInf(end, 1) {
				end = stops.Buckets[i]
			}
			s.Stops.Seconds = append(s.Stops.Seconds, end)
			s.Stops.Counts = append(s.Stops.Counts, int64(n))
		}
	}
	return s
}

// Between returns what happened from a to b, which must be of one process, in this order.
func Between(a, b Stats) (GC, error) {
	if a.PID != b.PID || a.Go != b.Go {
		return GC{}, fmt.Errorf("stats of two processes, %d and %d", a.PID, b.PID)
	}
	if b.NumGC < a.NumGC || b.STW < a.STW || b.Uptime < a.Uptime {
		return GC{}, fmt.Errorf("stats in the wrong order, at %.3f s and %.3f s of process %d", a.Uptime, b.Uptime, a.PID)
	}
	return GC{
		Cycles: b.NumGC - a.NumGC, CPU: b.GCCPU - a.GCCPU, TotalCPU: b.TotalCPU - a.TotalCPU,
		STW: b.STW - a.STW, STWMax: longestStop(a, b),
		HeapLive: b.HeapLive, PeakHeap: b.PeakHeap,
	}, nil
}

func longestStop(a, b Stats) float64 {
	before := map[float64]int64{}
	for i, s := range a.Stops.Seconds {
		before[s] = a.Stops.Counts[i]
	}
	var class float64
	for i, s := range b.Stops.Seconds {
		if b.Stops.Counts[i] > before[s] {
			class = s
		}
	}
	cycles := b.NumGC - a.NumGC
	if cycles == 0 || cycles > uint64(len(b.Pauses)) {
		return class
	}
	var longest uint64
	for _, ns := range b.Pauses[uint64(len(b.Pauses))-cycles:] {
		longest = max(longest, ns)
	}
	return min(class, time.Duration(longest).Seconds())
}
