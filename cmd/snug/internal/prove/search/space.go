// SPDX-License-Identifier: Apache-2.0

// Package search finds the best knobs for a program within a budget of runs: the search
// of `snug tune`.
//
// There are a few dozen settings, a run takes seconds, and two runs of one setting differ
// by 3 % (CPU per operation) to 40 % (P99). So the problem is not to optimize a smooth
// function but to identify the best arm with a fixed budget. A model of the garbage
// collector leaves out the settings that cannot fit. Half of the runs screen a balanced
// fraction of the rest, and a model of additive effects predicts the settings without
// runs. Sequential halving spends the other half on the best. Last, the leader must beat
// the default on fresh runs, and needs each of its knobs there, because the best of many
// noisy figures is too good on average (the winner's curse).
//
// The package depends only on an [experiment.Runner].
package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

// The knobs, in the order of Candidate.levels and of the factors of a space.
const (
	procsKnob = iota
	gogcKnob
	limitKnob
	burstKnob
	knobs
)

var knobNames = [knobs]string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "burst"}

// peakShare is the share of the memory limit that a setting may use, predicted or
// measured.
const peakShare = 0.9

// SpaceInput is the input of Space. Zero and nil are unknown, unless a field says
// otherwise.
type SpaceInput struct {
	Base   finding.Arm // the baseline, which is always tried
	CPUs   int         // that the program may use
	Memory int64       // memory limit of the program in bytes; 0 is none
	// Procs is the GOMAXPROCS of the baseline, Live its heap after a collection, Other
	// its memory besides the heap, GC the largest share of its CPU time that the
	// collector may have used.
	Procs *int
	Live  *float64
	Other float64
	GC    *float64
	// CPUOnly: the collector affects the objective and the constraints only by its CPU
	// time.
	CPUOnly bool
	// Values are the user's own, by knob. If a knob has some, only these and the
	// baseline's are tried; if not, Space chooses values, for burst none. An empty text,
	// "default" and "unset" leave a variable unset.
	Values Values
	// Keep are settings that are always tried, such as what snug would set.
	Keep []finding.Knobs
	// Only reports whether a setting can be tried at all; nil allows every one.
	Only func(finding.Arm) bool
}

// Values are settings to try. Burst is in microseconds.
type Values struct {
	GOMAXPROCS []string
	GOGC       []string
	GOMEMLIMIT []string // as Go reads it
	Burst      []int64
}

// Candidate is one setting to try.
type Candidate struct {
	Arm    finding.Arm
	levels [knobs]int // by knob: index into its factor's values
}

// collector is a pair of GOGC and GOMEMLIMIT.
type collector struct{ gogc, limit string }

// Space returns the settings to try, the baseline first, the values of each knob in them,
// and what was left out and why.
//
// Knobs without values of the user's are tried at GOMAXPROCS 1, ⌊q⌋, ⌈q⌉, ⌈q⌉+1, 2⌈q⌉,
// 4⌈q⌉ and the number of CPUs, where q is the quota (without a quota 1, half of the CPUs,
// and all); at GOGC 50 to 800 and off; and at GOMEMLIMIT unset and 70, 80 and 90 % of the
// memory limit. The model that leaves settings out is that of the GC guide
// (go.dev/doc/gc-guide), see prune.go.
func Space(in SpaceInput) ([]finding.Factor, []Candidate, []finding.Pruned) {
	s := &space{SpaceInput: in}
	base := s.key(in.Base)
	procs, bursts := s.procs(), s.bursts()
	pairs := s.collectors()
	var all []setting
	for _, p := range procs {
		for _, c := range pairs {
			for _, b := range bursts {
				all = append(all, setting{p, c.gogc, c.limit, b})
			}
		}
	}
	for _, k := range in.Keep {
		arm := in.Base
		arm.Knobs = k
		all = append(all, s.key(arm))
	}
	all = slices.DeleteFunc(all, func(x setting) bool {
		return x == base || s.Only != nil && !s.Only(s.arm(x))
	})
	all = append([]setting{base}, all...)
	return s.finish(all)
}

// setting is a value of each knob, as text.
type setting [knobs]string

type space struct {
	SpaceInput
	pruned []finding.Pruned
}

func (s *space) drop(what, why string, args ...any) {
	s.pruned = append(s.pruned, finding.Pruned{What: what, Why: fmt.Sprintf(why, args...)})
}

// key returns the setting of an arm, with one spelling for equal values.
func (s *space) key(a finding.Arm) setting {
	return setting{s.procsKey(a.GOMAXPROCS), s.gogcKey(a.GOGC), s.limitKey(a.GOMEMLIMIT), strconv.FormatInt(a.Burst, 10)}
}

func unset(v string) bool { return v == "" || v == "default" || v == "unset" }

func (s *space) procsKey(v string) string {
	switch {
	case unset(v):
		return ""
	case s.Base.GOMAXPROCS == "" && s.Procs != nil && v == strconv.Itoa(*s.Procs):
		return "" // the same as the default
	}
	return v
}

// gogcKey leaves GOGC unset for 100, which is Go's default.
func (s *space) gogcKey(v string) string {
	if unset(v) || v == "100" && s.Base.GOGC != "100" {
		return ""
	}
	return v
}

// limitKey leaves GOMEMLIMIT unset for off, which is Go's default. A value that is about
// equal to one of the baseline, of the user, or of a setting that is always tried becomes
// that one. The user's own values stay distinct.
func (s *space) limitKey(v string) string {
	if unset(v) || v == "off" {
		return ""
	}
	own := append([]string{s.Base.GOMEMLIMIT}, s.Values.GOMEMLIMIT...)
	if slices.Contains(own, v) {
		return v
	}
	for _, k := range s.Keep {
		own = append(own, k.GOMEMLIMIT)
	}
	n, _ := plan.ParseBytes(v)
	for _, o := range own {
		if m, ok := plan.ParseBytes(o); ok && math.Abs(float64(n-m)) <= sameLimit*float64(m) {
			return o
		}
	}
	return v
}

// named formats a value of a knob.
func named(knob int, v string) string {
	if v == "" {
		return knobNames[knob] + " unset"
	}
	return knobNames[knob] + "=" + v
}

func (s *space) procs() []string {
	var values []string
	for _, v := range s.Values.GOMAXPROCS {
		values = append(values, s.procsKey(v))
	}
	if len(values) > 0 {
		return unique(values)
	}
	values = append(values, s.procsKey(s.Base.GOMAXPROCS), "")
	q := s.Base.Quota
	steps := []int{1, (s.CPUs + 1) / 2, s.CPUs}
	if q > 0 {
		c := int(math.Ceil(q))
		steps = []int{1, int(q), c, c + 1, 2 * c, 4 * c, s.CPUs}
	}
	slices.Sort(steps)
	for _, n := range slices.Compact(steps) {
		v := strconv.Itoa(n)
		switch {
		case n < 1:
		case n > s.CPUs:
			s.drop(named(procsKnob, v), "more than the %d CPUs that the program may use", s.CPUs)
		default:
			if s.procsKey(v) == "" {
				s.drop(named(procsKnob, v), "the default is that already")
			}
			values = append(values, s.procsKey(v))
		}
	}
	return unique(values)
}

func (s *space) bursts() []string {
	var values []string
	for _, b := range s.Values.Burst {
		values = append(values, strconv.FormatInt(b, 10))
	}
	if len(values) > 0 {
		return unique(values)
	}
	return append(values, strconv.FormatInt(s.Base.Burst, 10))
}

func unique(values []string) []string {
	var out []string
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// arm returns the arm of a setting.
func (s *space) arm(x setting) finding.Arm {
	a := s.Base
	a.Knobs = finding.Knobs{GOMAXPROCS: x[procsKnob], GOGC: x[gogcKnob], GOMEMLIMIT: x[limitKnob]}
	a.Burst, _ = strconv.ParseInt(x[burstKnob], 10, 64)
	return a
}

// finish numbers the remaining values.
func (s *space) finish(all []setting) ([]finding.Factor, []Candidate, []finding.Pruned) {
	all = compact(all)
	factors := make([]finding.Factor, knobs)
	for k := range factors {
		var values []string
		for _, x := range all {
			values = append(values, x[k])
		}
		values = unique(values)
		slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(rank(k, a), rank(k, b)) })
		factors[k] = finding.Factor{Knob: knobNames[k], Values: values}
	}
	candidates := make([]Candidate, len(all))
	for i, x := range all {
		c := Candidate{Arm: s.arm(x)}
		if i == 0 {
			c.Arm = s.Base
		}
		for k := range c.levels {
			c.levels[k] = slices.Index(factors[k].Values, x[k])
		}
		candidates[i] = c
	}
	return factors, candidates, s.pruned
}

func compact(all []setting) []setting {
	seen := map[setting]bool{}
	return slices.DeleteFunc(all, func(x setting) bool {
		again := seen[x]
		seen[x] = true
		return again
	})
}

// rank orders the values of a knob: unset first, off last.
func rank(knob int, v string) float64 {
	if v == "" {
		return -1
	}
	if knob == limitKnob {
		n, _ := plan.ParseBytes(v)
		return float64(n)
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil {
		return math.Inf(1)
	}
	return x
}
