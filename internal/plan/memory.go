// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

const (
	// MinHeadroom is the smallest headroom below a memory limit: thread stacks, cgo, kernel
	// memory and the runtime's own overshoot do not shrink with the limit. With 8 MiB and with a
	// tenth no program of experiments/real was killed; 16 MiB saved none and cost up to 117 % of
	// the CPU time.
	MinHeadroom = 8 << 20
	// MinMemory is the memory limit below which GOMEMLIMIT is left alone: little would be left
	// for the heap.
	MinMemory = 64 << 20
	// MinValue is the smallest GOMEMLIMIT that snug derives from a limit.
	MinValue = 48 << 20
)

// Memory is the part of a memory limit that Go may use. The zero Memory is the default: all
// but the larger of 10% and MinHeadroom.
type Memory struct {
	Percent float64 // of the limit, above 0 and up to 100; 0 = not relative
	Less    int64   // bytes subtracted from Percent
	Bytes   int64   // absolute size, whatever the limit; 0 = not absolute
	Off     bool    // set GOMEMLIMIT=off
}

// memory decides GOMEMLIMIT.
func (in *Input) memory(p *Plan) {
	s, now := &p.GOMEMLIMIT, &in.Now
	room := 0.0
	if in.Go.Minor != 0 && in.Go.Minor < 19 {
		s.leave(NotSupported, 0)
		return
	}
	if text := in.Env.GOMEMLIMIT; text != "" {
		if _, ok := parseGoMemory(text); !ok {
			p.warnEnv("GOMEMLIMIT", text)
		}
		s.byEnv("GOMEMLIMIT", text)
		return
	}
	if in.Policy.Memory.Off {
		s.Value, s.Code = NoMemLimit, Explicit
	} else {
		room = in.memorySize(p, s)
	}
	switch {
	case now.Procs != 0 && !in.Policy.Override && now.MemLimit != NoMemLimit && now.MemLimit != now.OwnMemLimit &&
		(s.Leave || s.Value != now.MemLimit):
		s.leave(ProgramSet, float64(now.MemLimit))
	case !s.Leave && now.Live >= s.Value:
		p.warn(LiveHeap, &s.Source, float64(now.Live))
		s.leave(LiveHeap, float64(now.Live))
	}
	if n := in.Others + 1; !s.Leave && room > 0 && float64(n) > room {
		p.warn(MemorySeveral, &limits.Source{File: in.Limits.Memory.SoftSource.File, Raw: strconv.Itoa(n)}, 0)
	}
}

// memorySize decides by limits, hints and policy, regardless of who set the knob. room is the
// number of processes with this GOMEMLIMIT that fit in the limit that was read; 0 if no such
// limit decides.
func (in *Input) memorySize(p *Plan, s *Setting) (room float64) {
	limit := in.memoryLimit(p, s)
	spec := &in.Policy.Memory
	if spec.Bytes > 0 {
		if limit > 0 && spec.Bytes > limit {
			p.above(s.Code, &s.Source, limit, spec.Bytes)
		}
		s.Value = spec.Bytes
		s.because(Explicit, 0, nil)
		return 0
	}
	if s.Code == "" {
		s.Leave, s.Code = true, NoLimit
		if in.Limits.Memory.Soft.State == limits.Unknown {
			s.Code = Unknown
		}
		return 0
	}
	if s.Code != MemoryHint {
		room = float64(max(in.Policy.Workers, 1))
	}
	if n := in.Policy.Workers; n > 1 {
		limit /= int64(n)
		from := s.Source
		s.ignore(&s.Reason)
		s.because(Workers, float64(limit), &from)
	}
	s.Value = limit - max(limit/10, MinHeadroom)
	if spec.Percent > 0 {
		s.Value = min(limit, int64(float64(limit)*spec.Percent/100)-spec.Less)
		room *= 100 / spec.Percent
	}
	if limit < MinMemory || s.Value < MinValue {
		s.Value, s.Leave, s.Code = 0, true, TooSmall
	}
	return room
}

const memoryHint = "SNUG_MEMORY_LIMIT"

// above warns about a GOMEMLIMIT of n bytes. A hint and the address space stand in no file.
func (p *Plan) above(code string, from *limits.Source, limit, n int64) {
	switch code {
	case MemoryHint:
		from = &limits.Source{File: memoryHint, Raw: strconv.FormatInt(limit, 10)}
	case AddressSpace:
		from = &limits.Source{File: "the address space", Raw: strconv.FormatInt(limit, 10)}
	}
	p.warn(ExplicitAbove, from, float64(n))
}

// memoryLimit returns the limit that decides. If there is none, Code stays empty.
func (in *Input) memoryLimit(p *Plan, s *Setting) int64 {
	m := &in.Limits.Memory
	limit, limited := m.Soft.Get()
	hint := in.Hints.MemoryLimit
	if limited {
		code := MemoryMax
		hard, ok := m.Hard.Get()
		if !ok || limit < hard {
			code = MemoryHigh
		}
		if m.SoftSource.File == cgroup.HostMemory {
			if code = HostMemory; m.SoftSource.Level != "" {
				code = LxcfsMemory
			}
		}
		if ok && limit < hard {
			s.ignore(&Reason{MemoryMax, float64(hard), m.HardSource})
		}
		s.because(code, float64(limit), &m.SoftSource)
	}
	space, bounded := m.AddressSpace.Get()
	if n := in.Go.Space; n > 0 && limited && (!bounded || n < space) {
		space, bounded = n, true
	}
	if bounded && (!limited || space < limit) {
		if limited {
			s.ignore(&s.Reason)
		}
		limit, limited = space, true
		s.because(AddressSpace, float64(space), nil)
	}
	switch {
	case hint <= 0 || limited && hint >= limit:
		if hint > 0 {
			s.unused(HintUnused, float64(hint))
		}
		if m.SoftShared {
			p.warn(MemoryShared, &m.SoftSource, 0)
		}
		return limit
	case limited:
		s.ignore(&s.Reason)
	}
	s.because(MemoryHint, float64(hint), nil)
	return hint
}
