// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
)

// Look holds what may grow in a process, at one time of a watch. Unknown figures are NaN.
type Look struct {
	At          time.Time
	Collections float64
	Live        float64 // bytes that the last collection found in use
	Mapped      float64 // bytes that Go holds
	Resident    float64 // bytes
	Threads     float64
}

// LookAt returns the Look of a process that was read just now.
func LookAt(at time.Time, g *goproc.Facts) Look {
	l := Look{At: at, Resident: float64(g.Stat.RSSBytes), Threads: float64(g.Stat.Threads)}
	l.Collections, l.Live, l.Mapped = math.NaN(), math.NaN(), math.NaN()
	if n, ok := g.Collections.Get(); ok {
		l.Collections = float64(n)
	}
	if n, ok := g.HeapMarked.Get(); ok {
		l.Live = float64(n)
	}
	if n, ok := g.Mapped.Get(); ok {
		l.Mapped = float64(n)
	}
	return l
}

// held returns the memory that Go holds and uses: the kernel gives a page when it is first written.
func (l *Look) held() float64 { return min(l.Mapped, l.Resident) }

const (
	// minGrowth is the smallest growth in bytes over a watch that is looked at.
	minGrowth = 2 << 20
	// minThreads is the same for threads.
	minThreads = 8
	// quarters of a watch are compared, and its growth is steady if the slowest of them is at least
	// steady times the fastest.
	quarters = 4
	steady   = 0.4
	// minMarks is the number of collections in a watch that show whether memory of Go grows, or
	// only garbage does.
	minMarks = 2 * quarters
)

// Growth adds to f what grew steadily over the looks. Memory of Go counts if enough collections
// ended meanwhile, or if the last one found hardly any garbage. Otherwise garbage is memory that
// grew and may be garbage, in bytes, and part the share of the collections that would show it, 0
// to 1.
func Growth(f *rules.Facts, looks []Look) (garbage, part float64) {
	if len(looks) < quarters {
		return 0, 0
	}
	first, last := looks[0], looks[len(looks)-1]
	var marks, held, other, threads series
	seen := first.Collections
	for _, l := range looks {
		at := l.At.Sub(first.At).Seconds()
		if l.Collections > seen {
			seen = l.Collections
			marks.add(at, l.Live)
		}
		held.add(at, l.held())
		other.add(at, max(0, l.Resident-l.Mapped))
		threads.add(at, l.Threads)
	}
	from := strconv.Itoa(len(looks)) + " looks"
	f.OtherGrowth = other.trend(minGrowth, from)
	f.ThreadGrowth = threads.trend(minThreads, from)
	switch {
	case len(marks.v) >= minMarks:
		f.LiveGrowth = marks.trend(minGrowth, strconv.Itoa(len(marks.v))+" collections")
		f.GoGrowth = held.trend(minGrowth, from)
	case f.KeptMost():
		f.GoGrowth = held.trend(minGrowth, from)
	case last.held()-first.held() >= minGrowth:
		return last.held() - first.held(), float64(len(marks.v)) / minMarks
	}
	return 0, 0
}

// series holds values over time, in seconds.
type series struct{ at, v []float64 }

func (s *series) add(at, v float64) {
	if !math.IsNaN(v) {
		s.at, s.v = append(s.at, at), append(s.v, v)
	}
}

// trend returns the growth of a series; nil if it grew by less than minimum between the middles of its
// first and last quarters, in one of the quarters not at all, or much slower than in another. A
// program that warms up grows slower and slower.
func (s *series) trend(minimum float64, from string) *rules.Trend {
	n := len(s.v)
	if n < quarters {
		return nil
	}
	var at, v [quarters]float64
	for q := range quarters {
		a, b := q*n/quarters, (q+1)*n/quarters
		at[q], v[q] = Mean(s.at[a:b]), Mean(s.v[a:b])
	}
	speed := (v[quarters-1] - v[0]) / (at[quarters-1] - at[0])
	t := &rules.Trend{PerSecond: speed, Min: math.Inf(1), Max: math.Inf(-1), From: from}
	for q := 1; q < quarters; q++ {
		rate := (v[q] - v[q-1]) / (at[q] - at[q-1])
		t.Min, t.Max = min(t.Min, rate), max(t.Max, rate)
	}
	if !(v[quarters-1]-v[0] >= minimum && t.Min > 0 && t.Min >= steady*t.Max) {
		return nil
	}
	return t
}

// Trend is the steady growth of values over time in seconds, by at least minimum; nil = there is none.
func Trend(at, v []float64, minimum float64, from string) *rules.Trend {
	s := series{at, v}
	return s.trend(minimum, from)
}

// Mean returns the mean of values; NaN of none.
func Mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
