// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"
	"fmt"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// delays reads the histograms of scheduling latencies and of stops for collections.
func (r *reader) delays(f *Facts) {
	v, s := &r.image.Vars, &r.image.Sched
	r.durations(&f.SchedLatency, v.Spinning, s.TimeToRun)
	if s.StopsGC >= 0 {
		r.durations(&f.GCStops, v.Spinning, s.StopsGC)
	} else {
		r.durations(&f.GCStops, v.PauseTotal, s.GCPauseDist)
	}
}

// durations reads a histogram twice. The kernel promises no aligned word in one piece, so a count
// may be half old and half new: then the two reads differ by more than a process can count.
func (r *reader) durations(to *figure.Of[Durations], v gobin.Var, off int64) {
	if off < 0 || r.image.Sched.Histogram <= 0 {
		to.Because(noOffset)
		return
	}
	for range attempts {
		before, err := r.at(v, off, r.image.Sched.Histogram)
		if err != nil {
			to.Because(err.Error())
			return
		}
		b, err := r.at(v, off, r.image.Sched.Histogram)
		if err != nil {
			to.Because(err.Error())
			return
		}
		if !grew(before, b) {
			continue
		}
		if d, ok := parseDurations(b); ok {
			to.Know(d, r.source(v))
			return
		}
	}
	to.Because("its counts make no sense, " + r.source(v))
}

// maxGs bounds the number of goroutines: a stack has at least 2 KiB.
const maxGs = maxHeap >> 11

// goroutines counts the goroutines as the runtime does (runtime/proc.go, gcount): all that were
// made, less its own, less those that ended and wait for reuse, in common or on a P. Goroutines
// that start or end in between are counted or not, as in runtime.NumGoroutine.
func (r *reader) goroutines(f *Facts) {
	n, err := r.gcount()
	switch {
	case err != nil:
		f.Goroutines.Because(err.Error())
	case n < 1 || n > maxGs:
		f.Goroutines.Because(fmt.Sprintf("%d makes no sense, %s", n, r.source(r.image.Vars.AllPs)))
	default:
		f.Goroutines.Know(int(n), r.source(r.image.Vars.AllPs))
	}
}

func (r *reader) gcount() (int64, error) {
	v, s := &r.image.Vars, &r.image.Sched
	if s.FreeGs < 0 || s.PFreeGs < 0 {
		return 0, errors.New(noOffset)
	}
	made, err := r.at(v.AllGs, 8, 8) // its length
	if err != nil {
		return 0, err
	}
	n := made.int64(0)
	for _, off := range []int64{s.SysGs, s.FreeGs, s.FreeGsNoStack} {
		if off == -1 {
			continue
		}
		b, err := r.at(v.Spinning, off, 4)
		if err != nil {
			return 0, err
		}
		n -= int64(b.int32(0))
	}
	list, err := r.at(v.AllPs, 0, 16)
	if err != nil {
		return 0, err
	}
	ps := list.uint64(8)
	if ps < 1 || ps > maxProcs {
		return 0, fmt.Errorf("%d Ps make no sense, %s", ps, r.source(v.AllPs))
	}
	all := make(block, 8*ps)
	if err := r.into(all, list.uint64(0), 0); err != nil {
		return 0, err
	}
	free := make(block, 4)
	for i := range ps {
		if err := r.into(free, all.uint64(8*int64(i)), s.PFreeGs); err != nil {
			return 0, err
		}
		n -= int64(free.int32(0))
	}
	return n, nil
}

// into reads memory at an offset from an address that the process holds.
func (r *reader) into(b block, addr uint64, off int64) error {
	if addr > maxHeap {
		return errors.New("an address makes no sense")
	}
	_, err := r.mem.ReadAt(b, int64(addr)+off)
	return err
}
