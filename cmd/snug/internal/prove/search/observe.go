// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

// check rejects an input for which there can be no search.
func (in *Input) check() error {
	open := experiment.OpenLoop(in.Base.Arm)
	switch name := in.Objective.name; {
	case name == "":
		return fmt.Errorf("no objective")
	case name == "rps" && open:
		return fmt.Errorf("objective rps: the load is %s whatever the knobs; want a saturating load", in.Base.Load)
	case name == "p99" && in.Base.Load == "saturated":
		return fmt.Errorf("objective p99: under a saturating load latency is the length of the queue; want a rate")
	case name == "wall" && in.Base.Load != "batch":
		return fmt.Errorf("objective wall: only a command that ends has it, the load is %s", in.Base.Load)
	case open && !(in.Base.Rate > 0):
		return fmt.Errorf("the load is %s, and no rate is known", in.Base.Load)
	case in.CPUs < 1:
		return fmt.Errorf("the number of CPUs is not known")
	case in.Budget <= 0 && in.Runs <= 0:
		return fmt.Errorf("no budget")
	case in.Budget > 0 && in.PerRun <= 0:
		return fmt.Errorf("the duration of a run is not known")
	}
	for _, v := range in.Values.GOMAXPROCS {
		if _, ok := plan.ParseProcs(v); !ok && !unset(v) {
			return fmt.Errorf("not a value of GOMAXPROCS, %q", v)
		}
	}
	for _, v := range in.Values.GOGC {
		if n, err := strconv.Atoi(v); (err != nil || n < 0) && v != "off" && !unset(v) {
			return fmt.Errorf("not a value of GOGC, %q", v)
		}
	}
	for _, v := range in.Values.GOMEMLIMIT {
		if _, ok := units.ParseGoBytes(v); !ok && v != "off" && !unset(v) {
			return fmt.Errorf("not a value of GOMEMLIMIT, %q", v)
		}
	}
	for _, b := range in.Values.Burst {
		if b < 0 {
			return fmt.Errorf("not a burst, %d µs", b)
		}
	}
	return nil
}

// procs returns the GOMAXPROCS of the baseline, or of another setting that leaves it
// alone; nil if no run reported it.
func (s *search) procs() *int {
	for _, r := range s.runs {
		if r.Arm.GOMAXPROCS == s.in.Base.GOMAXPROCS && r.Procs != nil {
			return r.Procs
		}
	}
	return nil
}

// medianOf returns the median of a figure of the setting to beat; nil if no run has it.
func (s *search) medianOf(read func(*finding.Run) *float64) *float64 {
	var x []float64
	for i := range s.runs {
		r := &s.runs[i]
		if v := read(r); v != nil && r.Invalid == "" && r.Arm == s.refArm() {
			x = append(x, *v)
		}
	}
	if len(x) == 0 {
		return nil
	}
	m := stats.Median(x)
	return &m
}

// errors returns the share of failed operations in all runs so far that were not
// OOM-killed: failures of a killed run say nothing about other settings.
func (s *search) errors() float64 {
	var ops, errors int64
	for _, r := range s.runs {
		if r.Invalid == "" && !killed(&r) {
			ops, errors = ops+r.Ops, errors+r.Errors
		}
	}
	return float64(errors) / max(1, float64(ops+errors))
}

// refArm returns the arm of the setting to beat.
func (s *search) refArm() finding.Arm {
	if s.ref < len(s.judge.candidates) {
		return s.judge.candidates[s.ref].Arm
	}
	return s.in.Base.Arm
}

func or(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

// observe fills in what the baseline's runs say about the program.
//
// The live heap follows from the peak heap by the model of the GC guide: a collection
// starts early enough to end at L(1+GOGC/100). Without the runtime's own figure, the
// whole memory of the process replaces the heap; this makes L too large and the space too
// cautious. Of a baseline that runs out of memory only that is known: the limit cut its
// heap off, and its share of GC time is that of a program about to be killed.
func (s *search) observe(in *SpaceInput) {
	in.Procs = s.procs()
	if s.baselineKilled() {
		s.gap("peak_heap_bytes", "the baseline runs out of memory; no setting was left out beforehand because of its memory")
		return
	}
	heap := s.medianOf(func(r *finding.Run) *float64 { return metric.Float(r.PeakHeap) })
	memory := s.medianOf(metric.MetricOf(metric.RSS).Run)
	if heap == nil {
		s.gap("peak_heap_bytes", "the program did not report it; its resident memory stands in for its heap")
		heap = memory
	} else if memory != nil {
		in.Other = max(0, *memory-*heap)
	}
	if heap != nil {
		live := *heap
		if percent, err := strconv.ParseFloat(s.in.Base.GOGC, 64); err == nil {
			live /= 1 + percent/100
		} else if s.in.Base.GOGC == "" {
			live /= 2
		}
		in.Live = &live
	} else {
		s.gap("memory_peak_bytes", "settings that need too much memory could not be left out beforehand")
	}
	// The runtime's estimate counts throttled time as GC time, so the true share
	// is at most this.
	in.GC = s.medianOf(func(r *finding.Run) *float64 {
		if r.GCCPU == nil || r.CPU == nil || *r.CPU <= 0 {
			return nil
		}
		f := *r.GCCPU / *r.CPU
		return &f
	})
}

func (s *search) gap(field, why string) {
	s.tune.Unknown = append(s.tune.Unknown, finding.Gap{Field: field, Why: why})
}

// Codes of warnings, see snug explain.
const (
	WarnP99   = "tune-p99"
	WarnTrade = "tune-trade"
)

func (s *search) warn(code, format string, args ...any) {
	s.tune.Warnings = append(s.tune.Warnings, finding.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// limits returns the constraints that always apply: under a memory limit a tenth of it
// stays free. The peak of a cgroup counts page cache, which the kernel reclaims before it
// kills. If the baseline's peak exceeds the bound because of that, the bound applies to
// the resident memory instead. Where only snug's plan survives, a setting may use as much
// as that does.
func (s *search) limits(memory int64) []Constraint {
	if memory <= 0 {
		return nil
	}
	bound := peakShare * float64(memory)
	name := "peak"
	if peak := s.medianOf(func(r *finding.Run) *float64 { return metric.Float(r.Peak) }); peak == nil || *peak > bound {
		name = "rss"
		if rss := s.medianOf(func(r *finding.Run) *float64 { return metric.Float(r.MaxRSS) }); peak != nil && (rss == nil || *rss > bound) {
			name = "peak"
		}
	}
	m, _ := figureOf(name)
	if s.ref != 0 { // where the default fails, what snug's plan uses is the measure
		for _, r := range s.judge.byCell(s.runs)[s.ref] {
			if v := m.Run(&r); v != nil && r.Invalid == "" {
				bound = min(max(bound, 1.02**v), float64(memory))
			}
		}
	}
	return []Constraint{{m, false, bound, name + "<=" + units.Bytes(int64(bound))}}
}
