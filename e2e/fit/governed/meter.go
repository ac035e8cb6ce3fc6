// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// reading holds the runtime's and the kernel's figures of this process.
type reading struct {
	at      time.Time
	cpu     float64 // seconds, of getrusage(2)
	gc      float64 // seconds, estimated by the runtime
	busy    float64 // seconds of everything but idling, estimated by the runtime
	cycles  uint64
	live    uint64 // bytes marked by the last collection
	goal    uint64
	scanned uint64 // stacks and globals
	limit   int64  // GOMEMLIMIT
	gogc    int64  // -1 = off
	mapped  uint64 // memory of Go, resident as far as the runtime knows
}

// A meter takes readings. It is not safe for concurrent use.
type meter struct{ samples []metrics.Sample }

func newMeter() *meter {
	m := &meter{}
	for _, name := range []string{
		"/cpu/classes/gc/total:cpu-seconds", "/cpu/classes/total:cpu-seconds", "/cpu/classes/idle:cpu-seconds",
		"/gc/cycles/total:gc-cycles", "/gc/heap/live:bytes", "/gc/heap/goal:bytes",
		"/gc/scan/stack:bytes", "/gc/scan/globals:bytes", "/gc/gomemlimit:bytes", "/gc/gogc:percent",
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
	} {
		m.samples = append(m.samples, metrics.Sample{Name: name})
	}
	return m
}

func (m *meter) read() reading {
	metrics.Read(m.samples)
	f := func(i int) float64 { return m.samples[i].Value.Float64() }
	n := func(i int) uint64 { return m.samples[i].Value.Uint64() }
	r := reading{
		at: time.Now(), gc: f(0), busy: f(1) - f(2), cycles: n(3), live: n(4), goal: n(5), scanned: n(6) + n(7),
		limit: math.MaxInt64, gogc: -1, mapped: n(10) - n(11),
	}
	if v := n(8); v < math.MaxInt64 {
		r.limit = int64(v)
	}
	if v := n(9); v < math.MaxInt32 {
		r.gogc = int64(v)
	}
	r.cpu = cpuTime()
	return r
}

// cpuTime returns the CPU time of this process in seconds.
func cpuTime() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// effective returns the actual growth of the heap between collections in percent, regardless of
// GOGC; 0 before the first collection.
func (r reading) effective() float64 {
	if r.live == 0 {
		return 0
	}
	return 100 * (float64(r.goal) - float64(r.live)) / float64(r.live+r.scanned)
}

// share returns the collector's part of the CPU time between two readings, 0 to 1. It is NaN if no
// collection ended between them, because the runtime counts only then.
func share(a, b reading) float64 {
	if b.busy <= a.busy {
		return math.NaN()
	}
	return (b.gc - a.gc) / (b.busy - a.busy)
}

// peak returns the largest resident set so far, in bytes (VmHWM of proc_pid_status(5)); 0 =
// unreadable.
func peak() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := bytes.Cut(text, []byte("VmHWM:"))
	fields := bytes.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return n << 10
}

// sample is one line of a trace.
type sample struct {
	Seconds   float64 `json:"seconds"` // since the load began
	LiveAsked int64   `json:"live_asked_bytes"`
	Live      uint64  `json:"live_bytes"`
	Goal      uint64  `json:"goal_bytes"`
	Effective float64 `json:"effective_gogc"`
	GCShare   number  `json:"gc_share"` // over about a second
	GCCores   number  `json:"gc_cores"`
	Cores     float64 `json:"cores"` // since the last sample
	OpsRate   float64 `json:"ops_per_second"`
	Cycles    uint64  `json:"gc_cycles"`
	Limit     number  `json:"gomemlimit_bytes"` // null = off
	GOGC      int64   `json:"gogc"`
	Procs     int     `json:"gomaxprocs"`
	Mapped    uint64  `json:"go_bytes"`
	NonGo     int64   `json:"non_go_bytes"` // as counted by the load
	Queue     int64   `json:"queue"`
	*watched
}

// number is a float64 that is null in JSON if it is NaN or infinite.
type number float64

var none = number(math.NaN())

func (n number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) || x >= math.MaxInt64 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

var printing sync.Mutex

// printJSON prints one line of JSON with a single write, so that the line is complete even if this
// process is killed next.
func printJSON(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(strconv.Quote(err.Error()))
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// tracer takes samples until stop is called, and prints them if loud. look adds the figures of the
// load.
func tracer(began time.Time, ops func() int64, look func(*sample), loud bool) (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		m := newMeter()
		var old []reading // of the last second
		counts := []int64{0}
		old = append(old, m.read())
		for tick := time.NewTicker(250 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
			r, n, last := m.read(), ops(), old[len(old)-1]
			wall := r.at.Sub(last.at).Seconds()
			s := sample{
				Seconds: time.Since(began).Seconds(), Live: r.live, Goal: r.goal, Effective: r.effective(),
				GCShare: number(share(old[0], r)), Cores: (r.cpu - last.cpu) / wall,
				OpsRate: float64(n-counts[len(counts)-1]) / wall, Cycles: r.cycles, Limit: number(r.limit), GOGC: r.gogc,
				Procs: runtime.GOMAXPROCS(0), Mapped: r.mapped, watched: watch(),
			}
			s.GCCores = number(share(old[0], r) * (r.cpu - old[0].cpu) / r.at.Sub(old[0].at).Seconds())
			look(&s)
			if loud {
				printJSON(s)
			}
			old, counts = append(old, r), append(counts, n)
			if len(old) > 4 {
				old, counts = old[1:], counts[1:]
			}
		}
	}()
	return func() { close(done); <-gone }
}
