// SPDX-License-Identifier: Apache-2.0

// Package heldprof reads and writes profiles of what a Go program holds: its memory and its goroutines.
// It reads the format of pprof, and the text in which the runtime prints all goroutines: at a fatal
// error, for SIGQUIT, and at /debug/pprof/goroutine?debug=2.
package heldprof

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
)

// Call is a function on a stack.
type Call struct {
	Function, File string // "" = unknown
	Line           int    // 0 = unknown
}

// Heap is a memory profile of a program. All amounts are estimates from sampled allocations.
type Heap struct {
	Rate    int64 // MemProfileRate, the mean number of bytes between two samples; 0 = unknown
	Holders []Holder
}

// Holder is a call stack and the live objects that it allocated, of all sizes.
type Holder struct {
	Calls         []Call // innermost first
	Live, Objects int64  // bytes, and their number
	Samples       int64  // live objects that were sampled; 0 = unknown
	Allocated     int64  // bytes, since the start
}

// HeapOf returns the call stacks with live objects of a heap profile, largest first. It returns false for
// another profile.
func HeapOf(p *profile.Profile) (*Heap, bool) {
	live, objects, allocated := column(p, "inuse_space"), column(p, "inuse_objects"), column(p, "alloc_space")
	if live < 0 || objects < 0 || allocated < 0 {
		return nil, false
	}
	h := &Heap{}
	if p.PeriodType != nil && p.PeriodType.Type == "space" {
		h.Rate = p.Period
	}
	at := map[string]int{}
	for _, s := range p.Sample {
		if s.Value[live] <= 0 || s.Value[objects] <= 0 {
			continue
		}
		calls := callsOf(s)
		key := keyOf(calls)
		i, ok := at[key]
		if !ok {
			i = len(h.Holders)
			at[key] = i
			h.Holders = append(h.Holders, Holder{Calls: calls})
		}
		x := &h.Holders[i]
		x.Live, x.Objects, x.Allocated = x.Live+s.Value[live], x.Objects+s.Value[objects], x.Allocated+s.Value[allocated]
		x.Samples += sampled(s.Value[objects], s.Value[live]/s.Value[objects], h.Rate)
	}
	slices.SortStableFunc(h.Holders, func(a, b Holder) int { return cmp.Compare(b.Live, a.Live) })
	return h, true
}

// sampled returns how many samples an estimated number of objects of size bytes comes from: an object is
// sampled with a probability of 1 - exp(-size/rate) (runtime/pprof/protomem.go, scaleHeapSample). It
// is 0 without a rate.
func sampled(objects, size, rate int64) int64 {
	switch {
	case rate <= 0:
		return 0
	case rate == 1:
		return objects
	}
	return int64(math.Round(float64(objects) * -math.Expm1(-float64(size)/float64(rate))))
}

// Goroutines holds the goroutines of a program, grouped.
type Goroutines struct {
	Groups []Group // with the same state, calls and creator, largest first
	// Known reports that states and creators were written; a profile in pprof's format has neither.
	Known bool
}

// Group is a number of goroutines that do the same.
type Group struct {
	Count   int
	State   string // the reason why they wait, in the runtime's words; "" = unknown
	Calls   []Call // innermost first
	Cut     bool   // Calls lacks outer calls
	Creator Call   // the go statement; without a Function none, or unknown
	IDs     []uint64
}

// maxIDs is the number of goroutines of a group that are named.
const maxIDs = 5

// GoroutinesOf returns the goroutines of a goroutine profile. It returns false for another profile.
func GoroutinesOf(p *profile.Profile) (*Goroutines, bool) {
	count := column(p, "goroutine")
	if count < 0 {
		return nil, false
	}
	b := groups{at: map[string]int{}}
	for _, s := range p.Sample {
		if s.Value[count] > 0 {
			b.add(Group{Count: int(s.Value[count]), Calls: callsOf(s)})
		}
	}
	return &Goroutines{Groups: b.sorted()}, true
}

// groups joins groups that do the same.
type groups struct {
	all []Group
	at  map[string]int
}

func (b *groups) add(g Group) {
	key := g.State + "\x00" + keyOf([]Call{g.Creator}) + "\x00" + keyOf(g.Calls)
	i, ok := b.at[key]
	if !ok {
		b.at[key] = len(b.all)
		b.all = append(b.all, g)
		return
	}
	x := &b.all[i]
	x.Count += g.Count
	if len(x.IDs) < maxIDs {
		x.IDs = append(x.IDs, g.IDs...)
	}
}

func (b *groups) sorted() []Group {
	slices.SortStableFunc(b.all, func(a, b Group) int { return cmp.Compare(b.Count, a.Count) })
	return b.all
}

// column returns the index of a kind of value; -1 = there is none.
func column(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}

// callsOf returns the calls of a sample, of inlined functions too.
func callsOf(s *profile.Sample) []Call {
	var all []Call
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				all = append(all, Call{line.Function.Name, line.Function.Filename, int(line.Line)})
			}
		}
		if len(l.Line) == 0 {
			all = append(all, Call{Function: "0x" + strconv.FormatUint(l.Address, 16)})
		}
	}
	return all
}

func keyOf(calls []Call) string {
	var key []byte
	for _, c := range calls {
		key = append(append(append(append(key, c.Function...), 0), c.File...), 0)
		key = append(strconv.AppendInt(key, int64(c.Line), 10), 0)
	}
	return string(key)
}
