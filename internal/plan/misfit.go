// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"

	"github.com/snug-go/snug/limits"
)

// Review adds to Choose's plan warnings about values that are not snug's choice and do not fit.
func Review(in *Input, p *Plan) {
	switch now, text := in.Now.Procs, in.Env.GOMAXPROCS; {
	case !p.GOMAXPROCS.Leave:
	case p.GOMAXPROCS.Code == EnvSet && now <= 0:
		in.misfit(p, goProcs(text))
	case p.GOMAXPROCS.Code == EnvSet, p.GOMAXPROCS.Code == ProgramSet: // the program may have changed the operator's
		in.misfit(p, now)
	}
	if p.GOMEMLIMIT.Leave {
		n, text := in.Now.MemLimit, in.Env.GOMEMLIMIT
		switch p.GOMEMLIMIT.Code {
		default:
			return
		case EnvSet:
			var ok bool
			if n, ok = parseGoMemory(text); !ok {
				return
			}
		case ProgramSet:
			text = strconv.FormatInt(n, 10)
		}
		m, live, code := &in.Limits.Memory, in.Now.Live, ""
		limit, limited := m.Hard.Get()
		if h := in.Hints.MemoryLimit; h > 0 && (!limited || h < limit) {
			limit, limited, code = h, true, MemoryHint
		}
		if limited && n > limit && n != NoMemLimit {
			p.above(code, &m.HardSource, limit, n)
		} else if live > 0 && n <= live {
			p.warn(LiveHeap, &limits.Source{File: "GOMEMLIMIT", Raw: text}, float64(live))
		}
	}
}

// gross is the factor between Ps and a CPU limit from which a warning is due. With 24 Ps at 1 CPU, 14 of
// 16 programs of experiments/real do 10 to 50 % less. With twice the limit some are fastest.
const gross = 4

// TooManyProcs reports whether n Ps are gross times a CPU limit in cores or more: most programs do less.
// Those whose goroutines wait in system calls may need them. Go's own minimum of 2 is never too many.
func TooManyProcs(n int, cores float64) bool { return n > 2 && float64(n) >= gross*cores }

// misfit warns about n Ps that do not fit the CPU limit. Too few are certain only if the limit is below
// the CPUs, and nothing else is known to use the rest: no other group, worker or Go process.
func (in *Input) misfit(p *Plan, n int) {
	c, code := &in.Limits.CPU, ""
	cores, limited := c.Quota.Get()
	whole := limited && len(c.Levels) > 0 && c.Levels[0].Quota.N == cores && in.Others == 0 && in.Policy.Workers < 2
	if h := in.Hints.CPULimit; h > 0 && (!limited || h < cores) {
		cores, limited = h, true
	}
	var own Setting
	in.size(&own)
	switch {
	case limited && TooManyProcs(n, cores) && int64(n) > own.Value:
		code = ProcsAbove
	case whole && own.Code != Affinity && gross*int64(n) <= own.Value:
		code = ProcsBelow
	default:
		return
	}
	p.warn(code, &limits.Source{File: "GOMAXPROCS", Raw: strconv.Itoa(n)}, cores)
}
