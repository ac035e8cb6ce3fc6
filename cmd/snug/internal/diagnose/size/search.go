// SPDX-License-Identifier: Apache-2.0

package size

import (
	"cmp"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Container is the size of one: a CPU limit in cores, and a memory limit in bytes.
type Container struct{ Cores, Memory float64 }

// Of returns what a container costs.
func (p Price) Of(c Container) float64 { return p.Core*c.Cores + p.GiB*c.Memory/gib }

// within reports whether o has as much of both.
func (c Container) within(o Container) bool { return c.Cores <= o.Cores && c.Memory <= o.Memory }

// Search looks for the cheapest container in which a program keeps an objective. It takes what keeps it to keep it in
// every larger container too, and chooses from a grid: CPU limits a third to a half apart, memory limits 19 %. It
// only chooses: the caller tries, and reports it by Add.
type Search struct {
	price   Price
	cores   []float64 // rising; the last is the roomiest container's
	memory  []float64 // the same
	guesses []Container
	kept    []Container
	broke   []Container
}

// minMemory in bytes is the smallest memory limit that is tried: a small Go program has 8 MiB resident.
const minMemory = 8 * mib

// NewSearch returns a search below the roomiest container, in which a program was watched: d.
func NewSearch(price Price, roomiest Container, d *finding.Size) *Search {
	s := &Search{price: price, kept: []Container{roomiest}}
	for unit := 0.1; unit <= roomiest.Cores; unit *= 10 {
		for _, n := range [...]float64{1, 1.5, 2, 3, 4, 5, 7.5} {
			s.cores = append(s.cores, math.Round(n*unit*1000)/1000)
		}
	}
	s.cores = levels(s.cores, roomiest.Cores)
	guess, least := roomiest, Container{}
	for _, v := range [...]struct {
		*finding.SizeValue
		value, least *float64
	}{{&d.CPULimit, &guess.Cores, &least.Cores}, {&d.Memory, &guess.Memory, &least.Memory}} {
		if v.Value != nil {
			*v.value = min(*v.value, *v.Value)
		}
		*v.least = *v.value
		if v.Least != nil {
			*v.least = min(*v.least, *v.Least)
		}
	}
	const apart = 1.19 // four double the limit
	for m := guess.Memory; m >= minMemory; m /= apart {
		s.memory = append(s.memory, step(m))
	}
	for m := guess.Memory; m < roomiest.Memory; m *= apart {
		s.memory = append(s.memory, step(m))
	}
	s.memory = levels(append(s.memory, step(least.Memory)), roomiest.Memory)
	guess, least = s.snap(guess), s.snap(least)
	fewer := Container{least.Cores, guess.Memory}
	if less := (Container{guess.Cores, least.Memory}); price.Of(less) < price.Of(fewer) {
		fewer = less // what saves more comes first
	}
	// If the first breaks, the second says which limit did it.
	s.guesses = []Container{guess, {guess.Cores, roomiest.Memory}, fewer, least}
	return s
}

// levels returns values in order, each once, up to most, which is the last one.
func levels(v []float64, most float64) []float64 {
	v = slices.DeleteFunc(v, func(x float64) bool { return x >= most })
	slices.Sort(v)
	return append(slices.Compact(v), most)
}

// snap returns the smallest container of the grid that is not smaller.
func (s *Search) snap(c Container) Container {
	up := func(levels []float64, n float64) float64 {
		i, _ := slices.BinarySearch(levels, n)
		return levels[min(i, len(levels)-1)]
	}
	return Container{up(s.cores, c.Cores), up(s.memory, c.Memory)}
}

// Predicted returns the container that the watch alone calls the cheapest.
func (s *Search) Predicted() Container { return s.guesses[0] }

// Add reports whether the program kept its objective in a container. What it broke in later counts as broken, and all
// that is smaller.
func (s *Search) Add(c Container, kept bool) {
	if kept {
		s.kept = append(s.kept, c)
	} else {
		s.broke = append(s.broke, c)
	}
}

// broken reports whether a container is no larger than one in which the objective was broken.
func (s *Search) broken(c Container) bool { return slices.ContainsFunc(s.broke, c.within) }

// Cheapest returns the cheapest container in which the objective was kept, and not broken. The result is false if there
// is none.
func (s *Search) Cheapest() (best Container, ok bool) {
	for _, c := range s.kept {
		if !s.broken(c) && (!ok || s.price.Of(c) < s.price.Of(best)) {
			best, ok = c, true
		}
	}
	return best, ok
}

// Cheaper returns the dearest container of the grid that costs less than c and in which the objective was broken, or
// was in a larger one. The result is false if there is none.
func (s *Search) Cheaper(c Container) (next Container, ok bool) {
	for _, cores := range s.cores {
		for _, memory := range s.memory {
			b := Container{cores, memory}
			if s.broken(b) && s.price.Of(b) < s.price.Of(c) && (!ok || s.price.Of(b) > s.price.Of(next)) {
				next, ok = b, true
			}
		}
	}
	return next, ok
}

// open returns the containers of the grid that are cheaper than best and may keep the objective, the cheapest first.
func (s *Search) open(best Container) (all []Container) {
	for _, cores := range s.cores {
		for _, memory := range s.memory {
			if c := (Container{cores, memory}); s.price.Of(c) < s.price.Of(best) && !s.broken(c) {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Container) int { return cmp.Compare(s.price.Of(a), s.price.Of(b)) })
	return all
}

// Open returns the number of containers that are cheaper than the cheapest and may keep the objective.
func (s *Search) Open() int {
	best, _ := s.Cheapest()
	return len(s.open(best))
}

// Next returns the container to try next; false = there is none. It tries what the watch predicts first: the cheapest,
// and the least. Then it halves what is open of one limit at a time below the cheapest container so far, first the
// limit with more money in it. Where neither can be less, more of one may save more of the other: it tries the
// container that rules out most of these.
func (s *Search) Next() (Container, bool) {
	best, ok := s.Cheapest()
	if !ok {
		return Container{}, false
	}
	open := s.open(best)
	if len(open) == 0 {
		return Container{}, false
	}
	for _, g := range s.guesses {
		if slices.Contains(open, g) {
			return g, true
		}
	}
	var along [2][]Container // with less of one limit
	for _, c := range open {
		switch {
		case c.Memory == best.Memory:
			along[0] = append(along[0], c)
		case c.Cores == best.Cores:
			along[1] = append(along[1], c)
		}
	}
	saves := func(of []Container) float64 {
		if len(of) == 0 {
			return 0
		}
		return s.price.Of(best) - s.price.Of(of[0])
	}
	first := along[0]
	if saves(along[1]) > saves(first) {
		first = along[1]
	}
	if len(first) > 0 {
		return first[len(first)/2], true
	}
	return slices.MaxFunc(open, func(a, b Container) int { return cmp.Compare(s.rules(open, a), s.rules(open, b)) }), true
}

// rules returns how many of these containers are no larger than c.
func (s *Search) rules(all []Container, c Container) (n int) {
	for _, o := range all {
		if o.within(c) {
			n++
		}
	}
	return n
}

// Fits returns Go's settings in a container, by what was seen of a program whose Go release and number of CPUs are
// given: GOMEMLIMIT in bytes, 0 = to be left alone, and GOMAXPROCS, which Go may choose by itself.
func Fits(c Container, d *finding.Size, minor, cpus int, aware bool) (memory, cpu, procs finding.SizeValue, byGo bool) {
	a := &answer{Seen: &Seen{SizeSeen: d.Seen, Minor: minor, CPUs: cpus, Aware: aware}, Size: &finding.Size{}}
	a.limit(c.Cores, finding.Why{})
	var n float64
	if n, a.GOMEMLIMIT.Why = a.goMemLimit(c.Memory); n > 0 {
		a.GOMEMLIMIT.Value = &n
	}
	return a.GOMEMLIMIT, a.CPULimit, a.GOMAXPROCS, a.ByGo
}
