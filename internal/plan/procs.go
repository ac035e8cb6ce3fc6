// SPDX-License-Identifier: Apache-2.0

package plan

import "github.com/snug-go/snug/limits"

// maxProcs bounds GOMAXPROCS if affinity cannot be read: the most CPUs a Linux kernel
// supports.
const maxProcs = 8192

// procs decides GOMAXPROCS.
func (in *Input) procs(p *Plan) {
	s, now := &p.GOMAXPROCS, &in.Now
	if text := in.Env.GOMAXPROCS; text != "" {
		if goProcs(text) > 0 {
			s.byEnv("GOMAXPROCS", text)
			return
		}
		p.warnEnv("GOMAXPROCS", text)
	}
	if n := in.Policy.GOMAXPROCS; n > 0 {
		s.Value, s.Code = int64(n), Explicit
		return
	}
	in.size(s)
	if now.Procs != 0 && !in.Policy.Override && now.Procs != now.OwnProcs && (s.Leave || s.Value != int64(now.Procs)) &&
		!in.isDefault() {
		s.leave(ProgramSet, float64(now.Procs))
	}
}

// isDefault reports whether the runtime may have chosen the program's GOMAXPROCS by itself, at
// start or since.
func (in *Input) isDefault() bool {
	n, c := in.Now.Procs, &in.Limits.CPU
	return in.Now.ByRuntime || n == in.Now.NumCPU || n == c.Affinity.N || n == RuntimeProcs(c, in.Go) ||
		n == runtimeProcs(c, in.Go, in.Now.NumCPU)
}

// size decides by limits, hints and policy, regardless of who set the knob.
func (in *Input) size(s *Setting) {
	pol := &in.Policy
	in.cores(s)
	affinity, known := in.Limits.CPU.Affinity.Get()
	if s.Number == 0 {
		s.Number = float64(affinity)
		s.Code = Affinity
		if pol.MaxProcs <= 0 && !(pol.ReserveCPUs > 0) || !known {
			s.Leave, s.Code = true, NoLimit
			if !known || in.Limits.CPU.Quota.State == limits.Unknown {
				s.Code = Unknown
			}
			return
		}
	}
	if s.Code == Affinity && in.Limits.CPU.Quota.State == limits.Unknown {
		// The quota could not be read here, but the runtime may have read one. A requested
		// bound must not raise GOMAXPROCS above it.
		for _, n := range [...]int{in.Now.Procs, RuntimeProcs(&in.Limits.CPU, in.Go)} {
			if n > 0 {
				affinity = min(affinity, n)
			}
		}
	}
	cores := s.Number
	limited := s.Code != CPURequest && s.Code != Affinity
	if s.Code == CPURequest {
		if cores *= DefaultRequestFactor; pol.RequestFactor > 0 {
			cores = cores / DefaultRequestFactor * pol.RequestFactor
		}
	}
	if !known {
		affinity = maxProcs
		if in.Now.NumCPU > 0 {
			affinity = in.Now.NumCPU
		}
		if !(cores < maxProcs) {
			s.Leave, s.Code = true, Unknown
			return
		}
	}
	if pol.ReserveCPUs > 0 {
		cores = max(0, cores-pol.ReserveCPUs)
		s.Code = ReserveCPUs
	}
	// Still in floating point: a quota may be 1.76e10 cores.
	if cores > float64(affinity) {
		cores = float64(affinity)
		s.ignore(&s.Reason)
		s.because(Affinity, cores, nil)
	}
	n := ceil(cores)
	switch pol.Round {
	case Floor:
		n = int(cores)
	case Nearest:
		n = int(cores + 0.5)
	}
	minProcs := min(in.minProcs(cores, limited), affinity)
	if n < minProcs {
		if n = minProcs; s.Code != CPURequest || n > 2 { // at least 2 is part of that reason
			s.Code = QuotaMin
		}
	}
	if pol.MaxProcs > 0 && n > pol.MaxProcs {
		n = pol.MaxProcs
		s.Code = MaxProcs
	}
	s.Value = int64(max(n, 1))
}

// minProcs returns the smallest GOMAXPROCS for so many cores. Below a quota of one core, limited, a
// second P only spends the period's quota sooner, and all wait for the next: experiments/real. A
// request is no bound, so a program may use more. From one core on it is the runtime's minimum.
func (in *Input) minProcs(cores float64, limited bool) int {
	switch {
	case in.Policy.MinProcs > 0:
		return in.Policy.MinProcs
	case cores < 1 && limited:
		return 1
	}
	return 2
}

// cores sets the reason to the limit that decides. If there is none, Number stays 0.
func (in *Input) cores(s *Setting) {
	c, h := &in.Limits.CPU, &in.Hints
	quota, limited := c.Quota.Get()
	if limited {
		s.because(in.Policy.Round.code(), quota, &c.QuotaSource)
	}
	switch {
	case h.CPULimit > 0 && (!limited || h.CPULimit < quota):
		if limited {
			s.ignore(&s.Reason)
		}
		s.because(CPULimitHint, h.CPULimit, nil)
	case h.CPULimit > 0:
		s.unused(HintUnused, h.CPULimit)
	case !limited && h.CPURequest > 0:
		s.because(CPURequest, h.CPURequest, nil)
		return
	}
	if h.CPURequest > 0 {
		s.unused(RequestUnused, h.CPURequest)
	}
}

func (r Round) code() string {
	switch r {
	case Floor:
		return QuotaFloor
	case Nearest:
		return QuotaNearest
	}
	return QuotaCeil
}

// ceil rounds up; cores must fit an int.
func ceil(cores float64) int {
	n := int(cores)
	if float64(n) < cores {
		n++
	}
	return n
}
