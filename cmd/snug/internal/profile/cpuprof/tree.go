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
	// maxNodes bounds the tree of all stacks while it is built; the smallest samples
	// come last and are truncated.
	maxNodes = 1 << 19
	// maxDepth is the maximum depth of a drawn stack, in calls.
	maxDepth = 192
	// maxFrames bounds the number of drawn frames, and so the size of the page: a frame
	// takes some 300 bytes.
	maxFrames = 5000
	// minShare is the minimum share of a drawn frame, 0 to 1.
	minShare = 0.0005
)

// tree holds all stacks of a profile, from the outermost call. Node 0 is the root.
type tree struct {
	nodes []node
	names []string
}

type node struct {
	name  int32 // index into names
	rank  rank  // class of the stack so far, from the outermost call to here
	depth int32
	below []int32
	of    [2]float64 // amounts of up to two profiles
	self  float64
}

// total returns the amount of all profiles.
func (n *node) total() float64 { return n.of[0] + n.of[1] }

// weighed is a sample with the amount that it stands for, of one of up to two profiles.
type weighed struct {
	s      *profile.Sample
	side   int
	amount float64
}

// weigh returns the samples of a profile with their CPU ns times scale as amounts.
func weigh(p *profile.Profile, value func(*profile.Sample) (n, ns float64), side int, scale float64) []weighed {
	samples := make([]weighed, 0, len(p.Sample))
	for _, s := range p.Sample {
		if _, ns := value(s); ns > 0 {
			samples = append(samples, weighed{s, side, ns * scale})
		}
	}
	return samples
}

// newTree builds the tree of samples, which it sorts.
func newTree(samples []weighed) *tree {
	t := &tree{nodes: []node{{rank: rank(len(classes) - 1)}}, names: []string{"all"}}
	slices.SortStableFunc(samples, func(a, b weighed) int { return cmp.Compare(b.amount, a.amount) })

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
		t.nodes[0].of[w.side] += w.amount
		// go adds a call; it returns false where the drawing ends.
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
			t.nodes[at].of[w.side] += w.amount
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
		t.nodes[at].self += w.amount
	}
	return t
}

// Graph is a profile as a flame graph.
type Graph struct {
	*Summary
	Calls    []Call   // in depth-first order from the root, which is the whole profile
	Comments []string // first few comments of the profile
}

// Call is a drawn node: a function called by the one above it.
type Call struct {
	Name        string
	Class       Class
	Entry       bool // its class differs from that of the call above
	Merged      bool // several calls that are too small
	Depth       int
	Start, Size float64 // shares of the profile, 0 to 1
	Self        float64
	Amounts     [2]float64 // of each profile, if two are drawn
}

// maxComments is the maximum number of comments of a profile to keep.
const maxComments = 8

// GraphOf returns the flame graph of a profile. It merges calls under 0.05% of the CPU
// time, or beyond the maximum number. Its errors are those of Summarize.
func GraphOf(p *profile.Profile) (*Graph, error) {
	s, err := Summarize(p)
	if err != nil {
		return nil, err
	}
	value, err := cpuValues(p)
	if err != nil {
		return nil, err
	}
	g := &Graph{Summary: s, Calls: newTree(weigh(p, value, 0, 1)).calls()}
	for _, c := range p.Comments[:min(len(p.Comments), maxComments)] {
		g.Comments = append(g.Comments, CleanName(strings.TrimPrefix(c, "snug: ")))
	}
	return g, nil
}

// CallsOf lays out a profile of any kind by the values at an index. Class and Self are as for CPU
// time.
func CallsOf(p *profile.Profile, index int) []Call {
	value := func(s *profile.Sample) (n, value float64) { return 1, float64(s.Value[index]) }
	return newTree(weigh(p, value, 0, 1)).calls()
}

// calls lays out the calls that are large enough, largest first in each row, and
// merges the rest.
func (t *tree) calls() []Call {
	total := t.nodes[0].total()
	if total <= 0 {
		return nil
	}
	smallest := t.minSize()
	var all []Call
	var walk func(at int32, start float64, above rank)
	walk = func(at int32, start float64, above rank) {
		n := &t.nodes[at]
		all = append(all, Call{
			Name: t.names[n.name], Class: classes[n.rank].class, Depth: int(n.depth), Entry: at != 0 && n.rank != above,
			Start: start, Size: n.total() / total, Self: n.self / total, Amounts: n.of,
		})
		below := slices.Clone(n.below)
		slices.SortFunc(below, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.nodes[b].total(), t.nodes[a].total()),
				cmp.Compare(t.names[t.nodes[a].name], t.names[t.nodes[b].name]))
		})
		above = n.rank
		if at == 0 {
			above = ranks[User]
		}
		var small node
		count := 0
		for _, b := range below {
			size := t.nodes[b].total()
			if size < smallest {
				small.of[0] += t.nodes[b].of[0]
				small.of[1] += t.nodes[b].of[1]
				count++
				continue
			}
			walk(b, start, above)
			start += size / total
		}
		if size := small.total() / total; small.total() >= smallest {
			all = append(all, Call{
				Name: fmt.Sprintf("(%d smaller)", count), Class: classes[n.rank].class, Merged: true, Depth: int(n.depth) + 1,
				Start: start, Size: size, Self: size, Amounts: small.of,
			})
		}
	}
	walk(0, 0, ranks[User])
	return all
}

// minSize returns the minimum amount of a drawn node. It allows half of
// maxFrames, because each node may add one merged node.
func (t *tree) minSize() float64 {
	sizes := make([]float64, 0, len(t.nodes))
	smallest := t.nodes[0].total() * minShare
	for i := range t.nodes {
		if size := t.nodes[i].total(); size >= smallest {
			sizes = append(sizes, size)
		}
	}
	if len(sizes) <= maxFrames/2 {
		return smallest
	}
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	// Just above the first node too many, so that nodes of its size are dropped too.
	return sizes[maxFrames/2] * (1 + 1e-9)
}
