// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
)

// Frame is a function at an address. Several stand for one address where calls
// were inlined.
type Frame struct {
	Function string // as the Go runtime names it: net/http.(*conn).serve
	File     string // "" is unknown
	Line     int    // 0 is unknown
	Inlined  bool   // into the next frame
}

// Symbolizer gives addresses of a process names.
type Symbolizer interface {
	// Frames returns what runs at an address, the innermost first; nil is not
	// known. The address is one in the process, so with the offset it was loaded
	// at, and of the instruction itself: return addresses have been taken back
	// into the call.
	Frames(pc uint64) []Frame
}

// Names of what has no Go name.
const (
	kernelFrame = "[kernel]"
	vdsoFrame   = "[vdso]"   // code of the kernel in the process: reading clocks
	nativeFrame = "[native]" // C, or code nobody knows
)

// perfComment begins the comment by which Summarize knows a profile of Capture.
const perfComment = "snug: perf_event cpu-clock"

// maxInlined bounds what a Symbolizer may say of one address.
const maxInlined = 256

// Profile gives the samples names and returns them in the form of pprof: values
// are samples and CPU nanoseconds, and go tool pprof reads it once written.
func (r *Raw) Profile(sym Symbolizer) (*profile.Profile, error) {
	b := builder{
		sym:       sym,
		functions: map[Frame]*profile.Function{},
		locations: map[uint64]*profile.Location{},
		p: &profile.Profile{
			SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:        1e9 / int64(max(r.Rate, 1)),
			TimeNanos:     r.Start.UnixNano(),
			DurationNanos: r.Duration.Nanoseconds(),
			Comments:      r.comments(),
		},
	}
	b.mappings(r.Mappings)
	type key struct {
		kernel bool
		first  *uint64
		n      int
	}
	// Threads are not told apart: one goroutine runs on many.
	merged := map[key]*profile.Sample{}
	for _, s := range r.Samples {
		k := key{kernel: s.Kernel, n: len(s.PCs)}
		if k.n > 0 {
			k.first = &s.PCs[0]
		}
		if m := merged[k]; m != nil {
			m.Value[0] += s.Count
			m.Value[1] += s.Nanos
			continue
		}
		m := &profile.Sample{Value: []int64{s.Count, s.Nanos}, Location: b.stack(s)}
		merged[k] = m
		b.p.Sample = append(b.p.Sample, m)
	}
	if err := b.p.CheckValid(); err != nil {
		return nil, fmt.Errorf("profile of process %d: %w", r.PID, err)
	}
	return b.p, nil
}

func (r *Raw) comments() []string {
	what := "user and kernel"
	if !r.Kernel {
		what = "user code only"
	}
	c := []string{fmt.Sprintf("%s, %d Hz, %s", perfComment, r.Rate, what)}
	if r.ScheduledKnown {
		c = append(c, fmt.Sprintf("snug: %.3f s of CPU time sampled, %.3f s scheduled", r.Sampled, r.Scheduled))
	}
	if r.Lost > 0 {
		c = append(c, fmt.Sprintf("snug: %d samples lost", r.Lost))
	}
	if r.Unsampled > 0 {
		c = append(c, fmt.Sprintf("snug: %d threads of %d not sampled", r.Unsampled, r.Threads+r.Unsampled))
	}
	return c
}

// builder makes a profile.
type builder struct {
	p         *profile.Profile
	sym       Symbolizer
	functions map[Frame]*profile.Function // by name and file
	locations map[uint64]*profile.Location
	kernel    *profile.Location
}

func (b *builder) mappings(all []Mapping) {
	for i, m := range all {
		b.p.Mapping = append(b.p.Mapping, &profile.Mapping{
			ID: uint64(i + 1), Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File,
			// So that pprof does not look for the file to name anything itself.
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		})
	}
}

// stack turns a sample into locations, innermost first. All addresses but the
// first are where a call returns to, which may be another line and even another
// function than the call: one byte less is within it.
func (b *builder) stack(s Sample) []*profile.Location {
	all := make([]*profile.Location, 0, len(s.PCs)+1)
	if s.Kernel || len(s.PCs) == 0 {
		all = append(all, b.inKernel())
	}
	for i, pc := range s.PCs {
		if i > 0 && pc > 0 {
			pc--
		}
		all = append(all, b.location(pc))
	}
	return all
}

func (b *builder) inKernel() *profile.Location {
	if b.kernel == nil {
		b.kernel = b.newLocation(0, nil)
		b.kernel.Line = []profile.Line{{Function: b.function(Frame{Function: kernelFrame})}}
	}
	return b.kernel
}

func (b *builder) newLocation(pc uint64, m *profile.Mapping) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Address: pc, Mapping: m}
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *builder) location(pc uint64) *profile.Location {
	if l := b.locations[pc]; l != nil {
		return l
	}
	m := b.mapping(pc)
	l := b.newLocation(pc, m)
	b.locations[pc] = l
	var frames []Frame
	if b.sym != nil {
		frames = b.sym.Frames(pc)
	}
	for _, f := range frames[:min(len(frames), maxInlined)] {
		if f.Function != "" {
			l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.Line)})
		}
	}
	if len(l.Line) == 0 {
		l.Line = []profile.Line{{Function: b.function(unnamed(m))}}
	}
	return l
}

// unnamed is the frame of code that has no name: where it was loaded from is all
// there is to say.
func unnamed(m *profile.Mapping) Frame {
	switch {
	case m == nil:
		return Frame{Function: nativeFrame}
	case m.File == "[vdso]" || m.File == "[vsyscall]":
		return Frame{Function: vdsoFrame}
	case strings.HasPrefix(m.File, "/"):
		return Frame{Function: nativeFrame, File: path.Base(m.File)}
	}
	return Frame{Function: nativeFrame, File: m.File}
}

// mapping finds the range that an address is in; nil is none. Ranges are sorted.
func (b *builder) mapping(pc uint64) *profile.Mapping {
	all := b.p.Mapping
	i := sort.Search(len(all), func(i int) bool { return all[i].Limit > pc })
	if i < len(all) && all[i].Start <= pc {
		return all[i]
	}
	return nil
}

func (b *builder) function(f Frame) *profile.Function {
	key := Frame{Function: f.Function, File: f.File}
	if have := b.functions[key]; have != nil {
		return have
	}
	fn := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File}
	b.p.Function = append(b.p.Function, fn)
	b.functions[key] = fn
	return fn
}
