// SPDX-License-Identifier: Apache-2.0

package size

import (
	"fmt"
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
// used. A limit reserves none, and one below a core stops a single goroutine: it is whole cores, and as many Ps cannot use
// more of them.
func (a *answer) cpu() {
	s := a.Seen
	high, ok := s.CPUHigh.Get()
	if !ok {
		why := "the CPU time used is unknown"
		a.CPURequest.Why, a.CPULimit.Why, a.GOMAXPROCS.Why = why, why, why
		return
	}
	a.request(0)
	most, of := high, s.windows()
	if n, ok := s.CPUMost.Get(); ok {
		most, of = n, "99 % of the periods of 100 ms"
	} else {
		shorter := "a second"
		if s.Every > 0 {
			shorter = fmt.Sprintf("%.0f s", s.Every)
		}
		a.say("%s", because("CPU use in bursts shorter than "+shorter, &s.CPUMost))
	}
	n, why := math.Ceil(most-jitter), fmt.Sprintf("whole cores for %.2f, which %s used at most; a limit reserves nothing", most, of)
	quota, has := s.Quota.Get()
	if has && s.Throttled.N > limited && quota >= n {
		n, why = math.Floor(quota)+1, fmt.Sprintf("more than it has: %.1f %% of the periods were throttled", 100*s.Throttled.N)
	}
	if p := float64(s.Procs.N); s.Procs.Known() && high >= busy*p && p >= n {
		n, why = p+1, "a core more: its Ps were busy all the time"
	}
	a.CPULimit.Least = &most
	a.limit(max(1, n, math.Ceil(*a.CPURequest.Value)), why)
}

// limit sets the CPU limit, and GOMAXPROCS for it.
func (a *answer) limit(n float64, why string) {
	s := a.Seen
	s.cores, a.CPULimit.Value, a.CPULimit.Why = n, &n, why
	a.GOMAXPROCS, a.ByGo = finding.SizeValue{}, false
	in := plan.Input{Go: plan.Go{Minor: s.Minor, Blind: !s.Aware}}
	in.Limits.CPU.Quota = limits.Of(s.cores)
	in.Limits.CPU.Runtime = &limits.CPULevel{Go: in.Limits.CPU.Quota}
	in.Limits.CPU.Runtime125 = in.Limits.CPU.Runtime // if it had not found its quota, Aware would be false
	in.Limits.CPU.Affinity = limits.Of(max(s.CPUs, int(s.cores)))
	p := plan.Decide(&in)
	a.GOMAXPROCS.Why = "by the CPU limit: " + p.GOMAXPROCS.Code
	if set := &p.GOMAXPROCS; !set.Leave {
		procs := float64(set.Value)
		a.GOMAXPROCS.Value = &procs
		if a.ByGo = int64(p.Runtime) == set.Value; a.ByGo {
			a.GOMAXPROCS.Why = "Go chooses it by the CPU limit"
		}
	}
}

// request decides the CPU request, with the cores that collections take more in the container of the answer.
func (a *answer) request(more float64) {
	if more < 0.005 {
		more = 0 // within what the figures are off
	}
	used, what := a.CPUHigh.N, a.windows()+" used at most"
	mean, ok := a.CPUMean.Get()
	if ok && mean > used {
		used, what = mean, "the watch used a mean of" // few seconds, or short bursts
	}
	n := cores(used*(1+a.margin) + more)
	a.CPURequest = finding.SizeValue{Value: &n, Why: fmt.Sprintf("%s %.2f; %.0f %% for what was not seen", what, used, 100*a.margin)}
	if ok {
		a.CPURequest.Least = &mean
	}
	if limit := a.CPULimit.Value; limit != nil && n > *limit {
		a.limit(math.Ceil(n), "whole cores for the request, which a limit may not be below")
	}
	if more > 0 {
		a.CPURequest.Why += fmt.Sprintf("; %.2f for more collections", more)
	}
}

// windows returns what CPUHigh is of.
func (s *Seen) windows() string {
	if s.Every == 0 {
		return "95 % of the seconds"
	}
	return fmt.Sprintf("95 %% of the spans of %.0f s", s.Every)
}

// cores rounds up to 0.01, from 1 core on to 0.1.
func cores(n float64) float64 {
	to := 100.0
	if n > 1 {
		to = 10
	}
	return max(0.01, math.Ceil(n*to-1e-9)/to)
}
