// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
)

// Frame is a function at an address. An address has several frames if calls were inlined.
type Frame struct {
	Function string // the linker's name, with type arguments: net/http.(*conn).serve
	File     string // "" = unknown
	Line     int    // 0 = unknown
	Inlined  bool   // into the next frame
	Start    int    // line on which the function begins; 0 = unknown
	// Wrapper reports that the compiler made it to call another: a method of T, called through an
	// interface, is called by one of *T. Profiles lack it, as those of runtime/pprof do
	// (runtime.elideWrapperCalling); go build -pgo does not find the method behind one.
	Wrapper bool
}

// Symbolizer names the addresses of a process.
type Symbolizer interface {
	// Frames returns the frames at an address, innermost first; nil = unknown. The address is
	// one in the process, including the load offset. It is within the instruction itself:
	// return addresses have been moved back into the call. The caller may change the result.
	Frames(pc uint64) []Frame
}

// Names of code without a Go name.
const (
	kernelFrame = "[kernel]"
	vdsoFrame   = "[vdso]"   // kernel code mapped into the process, which reads clocks
	nativeFrame = "[native]" // C, or unknown code
)

// perfComment is the prefix of the comment by which Summarize recognises a profile of Capture.
const perfComment = "snug: perf_event cpu-clock"

// userComment ends that comment if time in the kernel was not sampled.
const userComment = "user code only"

// maxInlined is the maximum number of frames of one address.
const maxInlined = 256

// Profile symbolizes the samples and returns them as a pprof profile with the values
// samples and CPU nanoseconds, which go tool pprof and, if the frames have start lines, go build
// -pgo can read.
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
	// Threads are merged, because a goroutine runs on many.
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
		what = userComment
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

// builder builds a profile.
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
			// Prevents pprof from symbolizing with the file itself.
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		})
	}
}

// stack turns a sample into locations, innermost first. All addresses except the first
// are return addresses, which may be on another line or even in another function than
// the call; the byte before is within the call.
func (b *builder) stack(s Sample) []*profile.Location {
	all := make([]*profile.Location, 0, len(s.PCs)+1)
	if s.Kernel || len(s.PCs) == 0 {
		all = append(all, b.inKernel())
	}
	for i, pc := range s.PCs {
		if i > 0 && pc > 0 {
			pc--
		}
		if l := b.location(pc); l != nil {
			all = append(all, l)
		}
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

// location returns the calls at an address; nil if it has only a wrapper.
func (b *builder) location(pc uint64) *profile.Location {
	if l, ok := b.locations[pc]; ok {
		return l
	}
	m := b.mapping(pc)
	var frames []Frame
	if b.sym != nil {
		frames = b.sym.Frames(pc)
	}
	known := len(frames) > 0
	frames = slices.DeleteFunc(frames, func(f Frame) bool { return f.Wrapper })
	if known && len(frames) == 0 {
		b.locations[pc] = nil
		return nil
	}
	l := b.newLocation(pc, m)
	b.locations[pc] = l
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

// unnamed returns the frame of code without a name, which shows only where it was loaded from.
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

// mapping returns the range that contains an address; nil = none. Ranges are sorted.
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
	fn := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File,
		StartLine: int64(f.Start)}
	b.p.Function = append(b.p.Function, fn)
	b.functions[key] = fn
	return fn
}
