// SPDX-License-Identifier: Apache-2.0

package size

import (
	"cmp"
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

const (
	// jitter in cores is what windows of 100 ms may overstate CPU time by.
	jitter = 0.05
	// limited is the share of throttled periods above which the CPU that the program would use is unknown.
	limited = 0.01
	// busy is the share of the Ps above which the same holds.
	busy = 0.9
	// waited is how long threads may wait for a CPU, for each second that they run, before the advice is doubted: one
	// program was advised 496 MiB where that was 4.4, and 352 where it was 1 (experiments/2026-11-27-size).
	waited = 0.5
)

// cpu decides the CPU request and limit, and GOMAXPROCS for the limit. A request reserves CPU, so it follows what is
// used. A limit reserves none, and one below a core stops a single goroutine: it is whole cores, and as many Ps
// cannot use more of them.
func (a *answer) cpu() {
	s := a.Seen
	high, ok := s.CPUHigh.Get()
	if !ok {
		of := why(finding.SizeCPUUnknown)
		a.CPURequest.Why, a.CPULimit.Why, a.GOMAXPROCS.Why = of, of, of
		return
	}
	a.request(0)
	most, share, window := high, 0.95, s.window()
	if n, ok := s.CPUMost.Get(); ok {
		most, share, window = n, 0.99, 0.1
	} else {
		a.Unseen = append(a.Unseen, finding.Why{Code: finding.SizeBursts, Numbers: []float64{window}, Detail: s.CPUMost.Why})
	}
	n, of := math.Ceil(most-jitter), why(finding.SizeWholeCores, most, share, window)
	quota, has := s.Quota.Get()
	if has && s.Throttled.N > limited && quota >= n {
		n, of = math.Floor(quota)+1, why(finding.SizeMoreCores, s.Throttled.N)
	}
	if p := float64(s.Procs.N); s.Procs.Known() && high >= busy*p && p >= n {
		n, of = p+1, why(finding.SizePsBusy)
	}
	a.CPULimit.Least = &most
	a.limit(max(1, n, math.Ceil(*a.CPURequest.Value)), of)
}

// limit sets the CPU limit, and GOMAXPROCS for it.
func (a *answer) limit(n float64, of finding.Why) {
	s := a.Seen
	s.cores, a.CPULimit.Value, a.CPULimit.Why = n, &n, of
	a.GOMAXPROCS, a.ByGo = finding.SizeValue{}, false
	in := plan.Input{Go: plan.Go{Minor: s.Minor, Blind: !s.Aware}}
	in.Limits.CPU.Quota = limits.Of(s.cores)
	in.Limits.CPU.RuntimeLevel = &limits.CPULevel{GoQuota: in.Limits.CPU.Quota}
	in.Limits.CPU.RuntimeLevel125 = in.Limits.CPU.RuntimeLevel // if it had not found its quota, Aware would be false
	in.Limits.CPU.Affinity = limits.Of(max(s.CPUs, int(s.cores)))
	p := plan.Decide(&in)
	a.GOMAXPROCS.Why = finding.Why{Code: finding.SizeByLimit, Detail: p.GOMAXPROCS.Code}
	if set := &p.GOMAXPROCS; !set.Leave {
		procs := float64(set.Value)
		a.GOMAXPROCS.Value = &procs
		if a.ByGo = int64(p.Runtime) == set.Value; a.ByGo {
			a.GOMAXPROCS.Why = why(finding.SizeGoChooses)
		}
	}
}

// request decides the CPU request, with the cores that collections take more in the container of the answer.
func (a *answer) request(more float64) {
	if more < 0.005 {
		more = 0 // within what the figures are off
	}
	used := a.CPUHigh.N
	of := why(finding.SizeRequestUsed, used, 0.95, a.window(), a.margin, more)
	mean, ok := a.CPUMean.Get()
	if ok && mean > used { // few seconds, or short bursts
		used, of = mean, why(finding.SizeRequestMean, mean, a.margin, more)
	}
	n := cores(used*(1+a.margin) + more)
	a.CPURequest = finding.SizeValue{Value: &n, Why: of}
	if ok {
		a.CPURequest.Least = &mean
	}
	if limit := a.CPULimit.Value; limit != nil && n > *limit {
		a.limit(math.Ceil(n), why(finding.SizeForRequest))
	}
}

// window returns the seconds that CPUHigh is of.
func (s *Seen) window() float64 { return cmp.Or(s.Every, 1) }

// cores rounds up to 0.01, from 1 core on to 0.1.
func cores(n float64) float64 {
	to := 100.0
	if n > 1 {
		to = 10
	}
	return max(0.01, math.Ceil(n*to-1e-9)/to)
}
