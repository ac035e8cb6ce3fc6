// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// reader reads the runtime's variables. It checks everything it reads: an impossible value is
// unknown.
type reader struct {
	mem   io.ReaderAt
	image *image
	bias  uint64
	pid   int

	said      string // the last source, and its votes
	votes, of int
}

// Bounds of what a sane runtime holds.
const (
	maxProcs = 4096
	maxHeap  = 1 << 48 // bytes, the address space of amd64 and arm64
	// maxStruct is larger than any struct of the runtime that is read, in bytes.
	maxStruct = 16 << 10
	// maxAge bounds the age of a process.
	maxAge = 100 * 365 * 24 * time.Hour
	// maxCPUTime bounds a total of CPU time; time.Duration ends at 292 years.
	maxCPUTime = 200 * 365 * 24 * time.Hour
)

// attempts is how often values that the process writes one after the other are read until they
// are consistent.
const attempts = 4

// badBias says what is wrong with the load address; "" = nothing. Pages are at least 4 KiB.
func (r *reader) badBias() string {
	switch {
	case r.bias&0xfff != 0:
		return "load address does not fit the executable"
	case r.bias != 0 && !r.image.PIE:
		return "load address is not the executable's"
	}
	return ""
}

// source returns the source of a value.
func (r *reader) source(v gobin.Var) string {
	if r.said == "" || v.Votes != r.votes || v.Of != r.of {
		r.votes, r.of = v.Votes, v.Of
		r.said = fmt.Sprintf("/proc/%d/mem, %d/%d votes", r.pid, v.Votes, v.Of)
	}
	return r.said
}

// block is memory that starts at a variable.
type block []byte

func (b block) int32(off int64) int32   { return int32(binary.LittleEndian.Uint32(b[off:])) }
func (b block) uint32(off int64) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func (b block) uint64(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
func (b block) int64(off int64) int64   { return int64(b.uint64(off)) }

// at reads size bytes at offset off of a variable.
func (r *reader) at(v gobin.Var, off, size int64) (block, error) {
	if v.Addr == 0 {
		if v.Of == 0 {
			return nil, errors.New("this Go release does not have it, or its address is unknown")
		}
		return nil, fmt.Errorf("its address is uncertain, %d/%d votes, rival %d", v.Votes, v.Of, v.Rival)
	}
	addr := v.Addr + uint64(off) + r.bias
	if size <= 0 || size > maxStruct || addr > math.MaxInt64-maxStruct {
		return nil, errors.New("its address makes no sense")
	}
	if g, ok := r.mem.(*gathered); ok {
		if b := g.take(int64(addr), int(size)); b != nil {
			return b, nil
		}
		return readAt(g.mem, addr, size)
	}
	return readAt(r.mem, addr, size)
}

func readAt(mem io.ReaderAt, addr uint64, size int64) (block, error) {
	b := make(block, size)
	if _, err := mem.ReadAt(b, int64(addr)); err != nil {
		return nil, err
	}
	return b, nil
}

// span returns how many bytes cover fields of 8 bytes at these offsets. ok is false if a field
// does not exist.
func span(offsets ...int64) (size int64, ok bool) {
	for _, off := range offsets {
		if off < 0 || off > maxStruct-8 {
			return 0, false
		}
		size = max(size, off+8)
	}
	return size, true
}

const noOffset = "its offset in this Go release is unknown"

// read sets all figures.
func (r *reader) read(f *Facts) {
	if r.counters(f) {
		r.spinning(f)
	}
}

// counters sets all figures except the counts of idle and spinning Ps. It reports false if the
// program has not started yet.
func (r *reader) counters(f *Facts) bool {
	r.procs(f)
	if f.GOMAXPROCS.N == notUp {
		// The initial values are not settings yet.
		f.unknown(f.GOMAXPROCS.Why)
		return false
	}
	r.pacer(f)
	r.pauses(f)
	r.classes(f)
	r.delays(f)
	r.goroutines(f)
	return true
}

// notUp is GOMAXPROCS before the runtime has chosen it. The runtime chooses it after all other
// settings (runtime/proc.go, schedinit). It is never a known figure.
const notUp = -1

func (r *reader) procs(f *Facts) {
	v := r.image.Vars.GOMAXPROCS
	b, err := r.at(v, 0, 4)
	if err != nil {
		f.GOMAXPROCS.Because(err.Error())
		return
	}
	n := b.int32(0)
	if n == 0 {
		f.GOMAXPROCS.N = notUp
		f.GOMAXPROCS.Because("the program has not started yet, " + r.source(v))
		return
	}
	if n < 1 || n > maxProcs {
		f.GOMAXPROCS.Because(fmt.Sprintf("%d makes no sense, %s", n, r.source(v)))
		return
	}
	f.GOMAXPROCS.Know(int(n), r.source(v))
}

// custom reads sched.customGOMAXPROCS, which exists since Go 1.25.
func (r *reader) custom() (set, known bool) {
	b, err := r.at(r.image.Vars.CustomGOMAXPROCS, 0, 1)
	if err != nil || b[0] > 1 {
		return false, false
	}
	return b[0] == 1, true
}

// pacer reads gcController.
func (r *reader) pacer(f *Facts) {
	v, l := r.image.Vars.GCController, &r.image.Layout
	size := int64(0)
	for _, off := range []int64{l.GCPercent, l.MemoryLimit, l.HeapLive, l.HeapMarked, l.LastHeapGoal, l.HeapInUse,
		l.HeapFree, l.MappedReady} {
		if n, ok := span(off); ok {
			size = max(size, n)
		}
	}
	var b block
	err := errors.New(noOffset)
	if size > 0 {
		b, err = r.at(v, 0, size)
	}
	if err != nil {
		why := err.Error()
		f.GOGC.Because(why)
		f.GOMEMLIMIT.Because(why)
		f.HeapLive.Because(why)
		f.HeapMarked.Because(why)
		f.HeapGoal.Because(why)
		f.LastGoal.Because(why)
		f.Mapped.Because(why)
		f.Allocated.Because(why)
		return
	}
	source := r.source(v)
	if _, ok := span(l.GCPercent); !ok {
		f.GOGC.Because(noOffset)
	} else if n := b.int32(l.GCPercent); n < -1 {
		f.GOGC.Because(fmt.Sprintf("%d %% makes no sense, %s", n, source))
	} else {
		f.GOGC.Know(int(n), source)
	}
	if f.Exe.Minor == 18 {
		// GOMEMLIMIT does not exist before Go 1.19.
		f.GOMEMLIMIT = figure.None[int64]("Go 1.18 has none")
	} else if _, ok := span(l.MemoryLimit); !ok || f.Exe.Minor == 0 && r.image.Vars.CPUStats.Addr == 0 {
		// An unknown release may be 1.18, which has no CPU classes either, and another field at
		// this offset.
		f.GOMEMLIMIT.Because(noOffset)
	} else if n := b.int64(l.MemoryLimit); n < 0 {
		f.GOMEMLIMIT.Because(fmt.Sprintf("%d bytes make no sense, %s", n, source))
	} else if n == math.MaxInt64 {
		f.GOMEMLIMIT = figure.None[int64](source)
	} else {
		f.GOMEMLIMIT.Know(n, source)
	}
	bytes := func(n *figure.Of[uint64], off int64) {
		if _, ok := span(off); !ok {
			n.Because(noOffset)
		} else if v := b.uint64(off); v > maxHeap {
			n.Because(fmt.Sprintf("%d bytes make no sense, %s", v, source))
		} else {
			n.Know(v, source)
		}
	}
	bytes(&f.HeapLive, l.HeapLive)
	bytes(&f.HeapMarked, l.HeapMarked)
	bytes(&f.Mapped, l.MappedReady)
	bytes(&f.Allocated, r.allocated(f.Exe.Minor))
	r.goal(f, b, source)
}

// pauses reads the fields of memstats from pause_total_ns.
func (r *reader) pauses(f *Facts) {
	v, l := r.image.Vars.PauseTotal, &r.image.Layout
	size, ok := span(0, l.NumGC, l.GCCPUFraction)
	err := errors.New(noOffset)
	var b block
	if ok {
		b, err = r.at(v, 0, size)
	}
	if err != nil {
		f.PauseTotal.Because(err.Error())
		f.Collections.Because(err.Error())
		f.GCCPUFraction.Because(err.Error())
		return
	}
	source := r.source(v)
	pause, count := b.uint64(0), b.uint32(l.NumGC)
	fraction := math.Float64frombits(b.uint64(l.GCCPUFraction))
	// If all three values are possible, their offsets are right. The runtime raises the count
	// before it adds the pause that ends a collection, so there may be a collection without a
	// pause, but no pause without a collection.
	if pause > uint64(maxAge) || count == 0 && pause > uint64(time.Hour) || !(fraction >= 0 && fraction <= 1) {
		why := fmt.Sprintf("%d ns, %d collections, CPU share %v make no sense, %s", pause, count, fraction, source)
		f.PauseTotal.Because(why)
		f.Collections.Because(why)
		f.GCCPUFraction.Because(why)
		return
	}
	f.PauseTotal.Know(time.Duration(pause), source)
	f.Collections.Know(count, source)
	f.GCCPUFraction.Know(fraction, source)
}

// classes reads work.cpuStats.
func (r *reader) classes(f *Facts) {
	v, l := r.image.Vars.CPUStats, &r.image.Layout
	if f.Exe.Minor != 0 && f.Exe.Minor < 21 {
		f.CPU.Because("Go keeps it since 1.21")
		return
	}
	size, ok := span(l.GCAssist, l.GCDedicated, l.GCIdle, l.GCPause, l.GCTotal, l.ScavengeTotal, l.Idle, l.User, l.Total)
	if !ok {
		f.CPU.Because(noOffset)
		return
	}
	for range attempts {
		b, err := r.at(v, 0, size)
		if err != nil {
			f.CPU.Because(err.Error())
			return
		}
		if c, ok := parseClasses(b, l); ok {
			f.CPU.Know(c, r.source(v))
			return
		}
	}
	f.CPU.Because("the classes do not add up, " + r.source(v))
}

// parseClasses reports false if the parts of the collector's time do not add up to its total:
// runtime/mstats.go, (*cpuStats).accumulate, adds each part to the total.
func parseClasses(b block, l *gobin.Layout) (CPUClasses, bool) {
	ok := true
	class := func(off int64) time.Duration {
		n := b.int64(off)
		ok = ok && n >= 0 && n <= int64(maxCPUTime)
		return time.Duration(n)
	}
	c := CPUClasses{
		GCAssist: class(l.GCAssist), GCDedicated: class(l.GCDedicated), GCIdle: class(l.GCIdle),
		GCPause: class(l.GCPause), GCTotal: class(l.GCTotal), Scavenge: class(l.ScavengeTotal),
		Idle: class(l.Idle), Total: class(l.Total),
	}
	// The runtime computes User from the other classes, and its rounding can make it negative.
	c.User = max(0, time.Duration(b.int64(l.User)))
	ok = ok && c.User <= maxCPUTime && c.GCTotal/4 <= maxCPUTime &&
		c.GCAssist+c.GCDedicated <= c.GCTotal && c.GCAssist+c.GCDedicated+c.GCIdle+c.GCPause == c.GCTotal
	if !ok {
		return CPUClasses{}, false
	}
	return c, true
}

// spinning reads sched.npidle and sched.nmspinning, which are adjacent.
func (r *reader) spinning(f *Facts) {
	v := r.image.Vars.Spinning
	for range attempts {
		idle, spinning, err := r.spin()
		if err != nil {
			f.IdlePs.Because(err.Error())
			f.SpinningPs.Because(err.Error())
			return
		}
		if sanePs(idle, spinning, f.GOMAXPROCS) {
			f.IdlePs.Know(int(idle), r.source(v))
			f.SpinningPs.Know(int(spinning), r.source(v))
			return
		}
	}
	f.IdlePs.Because("more than GOMAXPROCS, " + r.source(v))
	f.SpinningPs.Because("more than GOMAXPROCS, " + r.source(v))
}

func (r *reader) spin() (idle, spinning int32, err error) {
	b, err := r.at(r.image.Vars.Spinning, -4, 8)
	if err != nil {
		return 0, 0, err
	}
	return b.int32(0), b.int32(4), nil
}

func sanePs(idle, spinning int32, procs figure.Of[int]) bool {
	most := int32(maxProcs)
	if procs.Known() {
		most = int32(procs.N)
	}
	return 0 <= idle && idle <= most && 0 <= spinning && spinning <= most
}
