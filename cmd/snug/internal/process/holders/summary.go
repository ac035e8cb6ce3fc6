// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// Holder is a call stack and the live objects that it allocated, of all sizes. All but Samples are
// estimates.
type Holder struct {
	Frames        []gobin.Frame // innermost first
	Live, Objects int64         // bytes, and their number
	Samples       int64         // live objects that were sampled; the fewer, the more uncertain
	Allocated     int64         // bytes, since the start
}

// Holders adds up the sites with the same calls and live objects, largest first.
func (h *Heap) Holders(n *Names) []Holder {
	index := map[string]int{}
	var all []Holder
	var key []byte
	for _, s := range h.Sites {
		frames := n.Site(s.Calls)
		key = key[:0]
		for _, f := range frames {
			key = strconv.AppendInt(append(append(key, f.Function...), 0), int64(f.Line), 10)
		}
		i, ok := index[string(key)]
		if !ok {
			i = len(all)
			index[string(key)] = i
			all = append(all, Holder{Frames: frames})
		}
		objects, live := Estimate(s.Allocs-s.Frees, s.Size, h.Rate)
		_, allocated := Estimate(s.Allocs, s.Size, h.Rate)
		x := &all[i]
		x.Live, x.Objects, x.Samples, x.Allocated = x.Live+live, x.Objects+objects, x.Samples+s.Allocs-s.Frees,
			x.Allocated+allocated
	}
	all = slices.DeleteFunc(all, func(x Holder) bool { return x.Samples == 0 })
	slices.SortStableFunc(all, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Live, a.Live), slices.CompareFunc(a.Frames, b.Frames, func(a, b gobin.Frame) int {
			return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line))
		}))
	})
	return all
}

// Creator is a go statement, and how many goroutines it created that still exist.
type Creator struct {
	gobin.Frame
	Count int
}

// Creators returns the go statements, those with most goroutines first.
func (g *Goroutines) Creators(n *Names) []Creator {
	index := map[gobin.Frame]int{}
	var all []Creator
	for _, group := range g.Groups {
		f, ok := n.Creator(group.Creator)
		if !ok {
			continue
		}
		i, ok := index[f]
		if !ok {
			i = len(all)
			index[f] = i
			all = append(all, Creator{Frame: f})
		}
		all[i].Count += group.Count
	}
	slices.SortStableFunc(all, func(a, b Creator) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line))
	})
	return all
}

// inOrder is the number of goroutines up to which all of them can be looked at.
const inOrder = 1 << 15

// spread returns a long list in another order, so that its first part has goroutines of all ages.
func spread(list []uint64) []uint64 {
	step := len(list)/inOrder + 1
	if step == 1 {
		return list
	}
	out := make([]uint64, 0, len(list))
	for from := range step {
		for i := from; i < len(list); i += step {
			out = append(out, list[i])
		}
	}
	return out
}
