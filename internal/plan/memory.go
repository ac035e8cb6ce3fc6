// SPDX-License-Identifier: Apache-2.0

package plan

import "github.com/snug-go/snug/limits"

const (
	// MinHeadroom is what stays free of a memory limit at the least: thread
	// stacks, cgo, kernel memory and the runtime's own overshoot do not shrink
	// with the limit.
	MinHeadroom = 16 << 20
	// MinMemory is the memory limit below which GOMEMLIMIT stays alone: the
	// headroom would be a quarter of it or more.
	MinMemory = 64 << 20
)

// Memory says how much of a memory limit Go may use. The zero Memory is the
// default: all but a tenth, and all but MinHeadroom.
type Memory struct {
	Percent float64 // of the limit, above 0 and up to 100; 0 = not relative
	Less    int64   // bytes taken off Percent
	Bytes   int64   // this much, whatever the limit; 0 = not absolute
	Off     bool    // set GOMEMLIMIT=off
}

func (in *Input) memory(p *Plan) Setting {
	if in.Go.Minor != 0 && in.Go.Minor < 19 {
		return leave(NotSupported)
	}
	if text := in.Env.GOMEMLIMIT; text != "" {
		if _, ok := parseGoBytes(text); !ok {
			p.warn(EnvInvalid, limits.Source{File: "GOMEMLIMIT", Raw: text})
		}
		return byEnv("GOMEMLIMIT", text)
	}
	if in.Policy.Memory.Off {
		return Setting{Value: NoMemLimit, Reason: Reason{Code: Explicit}}
	}
	s := in.memorySize(p)
	now := &in.Now
	if now.Procs != 0 && !in.Policy.Override && now.MemLimit != NoMemLimit && now.MemLimit != now.OwnMemLimit && (s.Leave || s.Value != now.MemLimit) {
		return byProgram(s, now.MemLimit)
	}
	if !s.Leave && now.Live >= s.Value {
		out := leave(LiveHeap)
		out.Number = float64(now.Live)
		out.Ignored = append(s.Ignored, s.Reason)
		p.warn(LiveHeap, s.Source)
		return out
	}
	return s
}

// memorySize is what limits, hints and policy say, whoever owns the knob.
func (in *Input) memorySize(p *Plan) Setting {
	var s Setting
	limit := in.memoryLimit(p, &s)
	spec := &in.Policy.Memory
	if spec.Bytes > 0 {
		if limit > 0 && spec.Bytes > limit {
			p.warn(ExplicitAbove, s.Source)
		}
		s.Value, s.Reason = spec.Bytes, Reason{Code: Explicit}
		return s
	}
	if s.Code == "" {
		s.Leave, s.Code = true, NoLimit
		if in.Limits.Memory.Soft.State == limits.Unknown {
			s.Code = Unknown
		}
		return s
	}
	if n := in.Policy.Workers; n > 1 {
		limit /= int64(n)
	}
	s.Value = limit - max(limit/10, MinHeadroom)
	if spec.Percent > 0 {
		s.Value = min(limit, int64(float64(limit)*spec.Percent/100)-spec.Less)
	}
	if limit < MinMemory || s.Value < MinMemory-MinHeadroom {
		s.Value, s.Leave, s.Code = 0, true, TooSmall
	}
	return s
}

// memoryLimit finds the limit that decides. Without one Code stays empty.
func (in *Input) memoryLimit(p *Plan, s *Setting) int64 {
	m := &in.Limits.Memory
	limit, limited := m.Soft.Get()
	hint := in.Hints.MemoryLimit
	if limited {
		s.Reason = Reason{MemoryMax, float64(limit), m.SoftSource}
		if hard, ok := m.Hard.Get(); !ok || limit < hard {
			s.Code = MemoryHigh
			if ok {
				s.Ignored = append(s.Ignored, Reason{MemoryMax, float64(hard), m.Source})
			}
		}
		if s.Source.File == limits.HostMemory {
			s.Code = HostMemory
		}
		if m.Shared {
			p.warn(MemoryShared, m.Source)
		}
	}
	if hint > 0 {
		if !limited || hint < limit {
			if limited {
				s.Ignored = append(s.Ignored, s.Reason)
			}
			s.Reason = Reason{Code: MemoryHint, Number: float64(hint)}
			return hint
		}
		s.Ignored = append(s.Ignored, Reason{Code: HintUnused, Number: float64(hint)})
	}
	return limit
}
