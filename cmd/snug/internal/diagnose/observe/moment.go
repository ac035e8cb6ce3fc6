// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/limits"
)

// Moment holds the counters of a process at one time.
type Moment struct {
	At     time.Time
	Go     *goproc.Facts
	Limits *limits.Limits // nil = unknown
	// Delays are those of its threads. They are valid only if Waits reports that all threads
	// were read.
	Delays proc.Delays
	Waits  bool
	Idle   proc.Idle // of the CPUs that it may run on
	IO     *proc.IO  // nil = unknown
}

// Rates adds the rates between two moments of one process to f.
func Rates(f *rules.Facts, a, b *Moment) {
	took := b.At.Sub(a.At)
	if took <= 0 || a.Go == b.Go { // it ended
		return
	}
	pid := strconv.Itoa(b.Go.Pid)
	f.Seconds = figure.New(took.Seconds(), "")
	schedstat := "/proc/" + pid + "/task/*/schedstat"
	if a.Waits && b.Waits {
		d := b.Delays.Since(a.Delays)
		f.Used = PerSecond(d.Run.Seconds(), took, schedstat)
		f.KernelWait = PerSecond(d.Wait.Seconds(), took, schedstat)
	}
	if used := (b.Go.Stat.CPU - a.Go.Stat.CPU).Seconds(); !f.Used.Known() || used > 1.1*f.Used.N*took.Seconds()+0.05 {
		// Threads that ended are missing from the sums, and so is their waiting time.
		f.Used, f.KernelWait = PerSecond(used, took, "/proc/"+pid+"/stat"), figure.Of[float64]{}
	}
	if a.IO != nil && b.IO != nil && b.IO.Calls > a.IO.Calls && b.IO.Bytes >= a.IO.Bytes {
		calls := float64(b.IO.Calls - a.IO.Calls)
		f.CallRate = PerSecond(calls, took, "/proc/"+pid+"/io")
		f.CallBytes = figure.New(float64(b.IO.Bytes-a.IO.Bytes)/calls, f.CallRate.Source)
	}
	if part, known := b.Idle.Since(a.Idle); known {
		f.Idle = figure.New(part, "/proc/stat")
	}
	if share, ok := Throttled(a.Limits, b.Limits); ok {
		f.Throttled = figure.New(share, "cpu.stat")
	} else if f.Quota.State == limits.None {
		f.Throttled = figure.Of[float64]{}
	}
	if a.Go.Collections.Known() && b.Go.Collections.Known() {
		f.Cycles = PerSecond(float64(b.Go.Collections.N)-float64(a.Go.Collections.N), took, b.Go.Collections.Source)
	}
	if part := CollectorShare(a.Go, b.Go); part.Known() && f.Used.Known() {
		f.GCCores = figure.New(f.Used.N*part.N, part.Source)
	}
}

// CollectorShare returns the share of a program's CPU time spent in collections between two
// looks, 0 to 1. It counts from and to the last collection before each look, and is unknown if
// none ended between them.
func CollectorShare(a, b *goproc.Facts) figure.Of[float64] {
	if !a.CPU.Known() || !b.CPU.Known() {
		return figure.Of[float64]{}
	}
	x, y := &a.CPU.N, &b.CPU.N
	return GCShare((y.GCTotal-y.GCIdle)-(x.GCTotal-x.GCIdle), y.User-x.User, y.Scavenge-x.Scavenge, b.CPU.Source)
}
