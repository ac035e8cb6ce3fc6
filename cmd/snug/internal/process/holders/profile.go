// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/profile/heldprof"
)

// Calls returns frames as calls of a profile.
func Calls(frames []gobin.Frame) []heldprof.Call {
	all := make([]heldprof.Call, len(frames))
	for i, f := range frames {
		all[i] = CallOf(f)
	}
	return all
}

// CallOf returns a frame as a call of a profile.
func CallOf(f gobin.Frame) heldprof.Call {
	return heldprof.Call{Function: f.Function, File: f.File, Line: f.Line}
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
	b := heldprof.NewBuilder(p, program)
	for _, s := range h.Sites {
		sample := &profile.Sample{NumLabel: map[string][]int64{"bytes": {s.Size}},
			NumUnit: map[string][]string{"bytes": {"bytes"}}}
		objects, bytes := Estimate(s.Allocs, s.Size, h.Rate)
		live, held := Estimate(s.Allocs-s.Frees, s.Size, h.Rate)
		sample.Value = []int64{objects, bytes, live, held}
		b.Add(Calls(n.Site(s.Calls)), sample)
	}
	return p
}

// Profile returns the profile as runtime/pprof writes it, with the state as the label "state" and
// the go statement as "created by".
func (g *Goroutines) Profile(n *Names, program string) *profile.Profile {
	p := heldprof.NewGoroutines("snug: read from outside, " + g.Source)
	if g.Unread > 0 {
		p.Comments = append(p.Comments, fmt.Sprintf("snug: %d goroutines changed with every read", g.Unread))
	}
	b := heldprof.NewBuilder(p, program)
	for _, group := range g.Groups {
		frames := n.Calls(group.Calls)
		if len(frames) == 0 {
			// It runs: only its first function is known.
			frames = []gobin.Frame{{Function: n.Start(group.Start)}}
		}
		creator, _ := n.Creator(group.Creator)
		b.AddGroup(group.Count, group.Words(), creator.Function, Calls(frames))
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
