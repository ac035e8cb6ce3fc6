// SPDX-License-Identifier: Apache-2.0

package heldprof

import (
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

// Builder adds samples to a profile for go tool pprof.
type Builder struct {
	p         *profile.Profile
	functions map[[2]string]*profile.Function // by name and file
	locations map[string]*profile.Location
}

// NewBuilder completes a profile that has no samples. program names the executable.
func NewBuilder(p *profile.Profile, program string) *Builder {
	p.TimeNanos = time.Now().UnixNano()
	p.Mapping = []*profile.Mapping{{
		ID: 1, File: program,
		// Prevents pprof from symbolizing with the file itself.
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}
	return &Builder{p, map[[2]string]*profile.Function{}, map[string]*profile.Location{}}
}

// Add adds a sample; calls are innermost first.
func (b *Builder) Add(calls []Call, s *profile.Sample) {
	for _, c := range calls {
		s.Location = append(s.Location, b.location(c))
	}
	b.p.Sample = append(b.p.Sample, s)
}

func (b *Builder) location(c Call) *profile.Location {
	key := c.Function + "\x00" + c.File + "\x00" + strconv.Itoa(c.Line)
	l := b.locations[key]
	if l == nil {
		id := [2]string{c.Function, c.File}
		fn := b.functions[id]
		if fn == nil {
			fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: c.Function, SystemName: c.Function, Filename: c.File}
			b.functions[id] = fn
			b.p.Function = append(b.p.Function, fn)
		}
		l = &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0],
			Line: []profile.Line{{Function: fn, Line: int64(c.Line)}}}
		b.locations[key] = l
		b.p.Location = append(b.p.Location, l)
	}
	return l
}

// NewGoroutines returns a goroutine profile without samples, as runtime/pprof writes it.
func NewGoroutines(comments ...string) *profile.Profile {
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "goroutine", Unit: "count"},
		Period:     1,
		Comments:   comments,
	}
}

// AddGroup adds goroutines, with their state as the label "state" and the go statement as "created by".
func (b *Builder) AddGroup(count int, state, creator string, calls []Call) {
	s := &profile.Sample{Value: []int64{int64(count)}, Label: map[string][]string{"state": {state}}}
	if creator != "" {
		s.Label["created by"] = []string{creator}
	}
	b.Add(calls, s)
}

// Profile returns the goroutines as a profile. program names the executable, or where they were read.
func (g *Goroutines) Profile(program string) *profile.Profile {
	p := NewGoroutines()
	b := NewBuilder(p, program)
	for i := range g.Groups {
		x := &g.Groups[i]
		b.AddGroup(x.Count, x.State, x.Creator.Function, x.Calls)
	}
	return p
}
