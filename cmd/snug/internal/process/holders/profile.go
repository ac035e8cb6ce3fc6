// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// builder builds a profile for go tool pprof.
type builder struct {
	p         *profile.Profile
	functions map[[2]string]*profile.Function // by name and file
	locations map[string]*profile.Location
}

func newBuilder(p *profile.Profile, program string) *builder {
	p.TimeNanos = time.Now().UnixNano()
	p.Mapping = []*profile.Mapping{{
		ID: 1, File: program,
		// Prevents pprof from symbolizing with the file itself.
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}
	return &builder{p, map[[2]string]*profile.Function{}, map[string]*profile.Location{}}
}

// stack returns a location for each frame.
func (b *builder) stack(frames []gobin.Frame) []*profile.Location {
	all := make([]*profile.Location, 0, len(frames))
	for _, f := range frames {
		key := f.Function + "\x00" + f.File + "\x00" + strconv.Itoa(f.Line)
		l := b.locations[key]
		if l == nil {
			id := [2]string{f.Function, f.File}
			fn := b.functions[id]
			if fn == nil {
				fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File}
				b.functions[id] = fn
				b.p.Function = append(b.p.Function, fn)
			}
			l = &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0], Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
			b.locations[key] = l
			b.p.Location = append(b.p.Location, l)
		}
		all = append(all, l)
	}
	return all
}

// Profile returns the profile as runtime/pprof writes it. program names the executable.
func (h *Heap) Profile(n *Names, program string) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		},
		DefaultSampleType: "inuse_space",
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:            h.Rate,
		Comments:          []string{"snug: read from outside, " + h.Source},
	}
	b := newBuilder(p, program)
	for _, s := range h.Sites {
		sample := &profile.Sample{Location: b.stack(n.Site(s.Calls)), NumLabel: map[string][]int64{"bytes": {s.Size}}, NumUnit: map[string][]string{"bytes": {"bytes"}}}
		objects, bytes := Estimate(s.Allocs, s.Size, h.Rate)
		live, held := Estimate(s.Allocs-s.Frees, s.Size, h.Rate)
		sample.Value = []int64{objects, bytes, live, held}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// Profile returns the profile as runtime/pprof writes it, with the state as the label "state" and
// the go statement as "created by".
func (g *Goroutines) Profile(n *Names, program string) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "goroutine", Unit: "count"},
		Period:     1,
		Comments:   []string{"snug: read from outside, " + g.Source},
	}
	if g.Unread > 0 {
		p.Comments = append(p.Comments, fmt.Sprintf("snug: %d goroutines changed with every read", g.Unread))
	}
	b := newBuilder(p, program)
	for _, group := range g.Groups {
		frames := n.Calls(group.Calls)
		if len(frames) == 0 {
			// It runs: only its first function is known.
			frames = []gobin.Frame{{Function: n.Start(group.Start)}}
		}
		label := map[string][]string{"state": {group.Words()}}
		if f, ok := n.Creator(group.Creator); ok {
			label["created by"] = []string{f.Function}
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: b.stack(frames), Value: []int64{int64(group.Count)}, Label: label})
	}
	return p
}

// Words returns the state in the runtime's words: the reason why they wait, or else the state.
func (g *Group) Words() string {
	if g.Reason != "" {
		return g.Reason
	}
	return g.State
}
