// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

const (
	// maxNodes bounds the tree of all stacks while it is made; the smallest
	// samples come last and are cut short.
	maxNodes = 1 << 19
	// maxDepth is how many calls deep a stack is drawn.
	maxDepth = 192
	// maxFrames bounds how many frames are drawn, and so the page: a frame takes
	// some 300 bytes.
	maxFrames = 5000
	// minShare is the smallest frame that is drawn, as a ratio of all.
	minShare = 0.0005
)

// tree is all stacks of a profile, from the outermost call. Node 0 is all.
type tree struct {
	nodes []node
	names []string
}

type node struct {
	name  int32 // index into names
	rank  rank  // class of the stack so far, from the outermost call to here
	depth int32
	below []int32
	total float64 // CPU ns
	self  float64
}

// newTree adds up the samples of a profile.
func newTree(p *profile.Profile, value func(*profile.Sample) (n, ns float64)) *tree {
	t := &tree{nodes: []node{{rank: rank(len(classes) - 1)}}, names: []string{"all"}}
	type weighed struct {
		s  *profile.Sample
		ns float64
	}
	samples := make([]weighed, 0, len(p.Sample))
	for _, s := range p.Sample {
		if _, ns := value(s); ns > 0 {
			samples = append(samples, weighed{s, ns})
		}
	}
	slices.SortStableFunc(samples, func(a, b weighed) int { return cmp.Compare(b.ns, a.ns) })

	sorter := newSorter()
	ids := map[string]int32{}
	byFunction := map[*profile.Function]int32{}
	id := func(f *profile.Function) int32 {
		if n, ok := byFunction[f]; ok {
			return n
		}
		name := nativeFrame
		if f != nil && f.Name != "" {
			name = CleanName(f.Name)
		}
		n, ok := ids[name]
		if !ok {
			n = int32(len(t.names))
			ids[name] = n
			t.names = append(t.names, name)
		}
		byFunction[f] = n
		return n
	}
	type edge struct{ from, name int32 }
	edges := map[edge]int32{}
	for _, w := range samples {
		at := int32(0)
		t.nodes[0].total += w.ns
		// go adds a call, false where the drawing ends.
		call := func(f *profile.Function) bool {
			e := edge{at, id(f)}
			to, ok := edges[e]
			if !ok {
				from := &t.nodes[at]
				if from.depth >= maxDepth || len(t.nodes) >= maxNodes {
					return false
				}
				r := unnamedRank
				if f != nil {
					r = sorter.of(f).rank
				}
				to = int32(len(t.nodes))
				from.below = append(from.below, to)
				t.nodes = append(t.nodes, node{name: e.name, rank: min(from.rank, r), depth: from.depth + 1})
				edges[e] = to
			}
			at = to
			t.nodes[at].total += w.ns
			return true
		}
		for _, l := range slices.Backward(w.s.Location) {
			if len(l.Line) == 0 && !call(nil) {
				break
			}
			deep := false
			for _, line := range slices.Backward(l.Line) {
				if !call(line.Function) {
					deep = true
					break
				}
			}
			if deep {
				break
			}
		}
		t.nodes[at].self += w.ns
	}
	return t
}

// Graph is a profile as a flame graph shows it.
type Graph struct {
	*Summary
	Calls    []Call   // in the order of a walk from the outermost one, which is all
	Comments []string // of the profile, the first few
}

// Call is a node as it is drawn: a function that the one above called.
type Call struct {
	Name        string
	Class       Class
	Entry       bool // its class is another than that of the call above
	Merged      bool // stands for several that are too small
	Depth       int
	Start, Size float64 // ratios of all
	Self        float64
}

// maxComments is how many comments of a profile are kept.
const maxComments = 8

// GraphOf adds up the stacks of a profile. Calls under 0.05 % of the CPU time, or more
// than there is room for, are merged. Errors are those of Summarize.
func GraphOf(p *profile.Profile) (*Graph, error) {
	s, err := Summarize(p)
	if err != nil {
		return nil, err
	}
	value, err := cpuValues(p)
	if err != nil {
		return nil, err
	}
	g := &Graph{Summary: s, Calls: newTree(p, value).calls()}
	for _, c := range p.Comments[:min(len(p.Comments), maxComments)] {
		g.Comments = append(g.Comments, CleanName(strings.TrimPrefix(c, "snug: ")))
	}
	return g, nil
}

// calls lays out what is large enough to be seen, the largest first in each
// row, and merges the rest.
func (t *tree) calls() []Call {
	total := t.nodes[0].total
	if total <= 0 {
		return nil
	}
	least := t.least()
	var all []Call
	var walk func(at int32, start float64, above rank)
	walk = func(at int32, start float64, above rank) {
		n := &t.nodes[at]
		all = append(all, Call{
			Name: t.names[n.name], Class: classes[n.rank].class, Depth: int(n.depth), Entry: at != 0 && n.rank != above,
			Start: start, Size: n.total / total, Self: n.self / total,
		})
		below := slices.Clone(n.below)
		slices.SortFunc(below, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.nodes[b].total, t.nodes[a].total), cmp.Compare(t.names[t.nodes[a].name], t.names[t.nodes[b].name]))
		})
		above = n.rank
		if at == 0 {
			above = ranks[User]
		}
		small, count := 0.0, 0
		for _, b := range below {
			size := t.nodes[b].total
			if size < least {
				small += size
				count++
				continue
			}
			walk(b, start, above)
			start += size / total
		}
		if small >= least {
			all = append(all, Call{
				Name: fmt.Sprintf("(%d smaller)", count), Class: classes[n.rank].class, Merged: true, Depth: int(n.depth) + 1,
				Start: start, Size: small / total, Self: small / total,
			})
		}
	}
	walk(0, 0, ranks[User])
	return all
}

// least is the smallest node to draw, in CPU ns. Each node may bring one that
// stands for several, hence the half.
func (t *tree) least() float64 {
	sizes := make([]float64, 0, len(t.nodes))
	least := t.nodes[0].total * minShare
	for _, n := range t.nodes {
		if n.total >= least {
			sizes = append(sizes, n.total)
		}
	}
	if len(sizes) <= maxFrames/2 {
		return least
	}
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	// Just above the first one too many, so that those of its size go as well.
	return sizes[maxFrames/2] * (1 + 1e-9)
}
