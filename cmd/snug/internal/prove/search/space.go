// SPDX-License-Identifier: Apache-2.0

// Package search finds the best knobs for a program within a budget of runs: the search
// of `snug tune`.
//
// There are a dozen or two settings, a run takes seconds, and two runs of one setting differ by
// 3 % (CPU per operation) to 40 % (P99). So the problem is to identify the best arm with a
// fixed budget. Sequential halving does that (Z. Karnin, T. Koren, O. Somekh, "Almost Optimal
// Exploration in Multi-Armed Bandits", ICML 2013): all settings are measured in shuffled
// rounds, as snug bench does, the worse half is left out, and the others get twice the rounds.
// Last, the leader must beat the default on fresh rounds, because the best of many noisy
// figures is too good on average (the winner's curse).
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
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

// The knobs, in the order of the factors of a space.
const (
	procsKnob = iota
	gogcKnob
	limitKnob
	knobs
)

var knobNames = [knobs]string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT"}

const (
	// peakShare is the share of the memory limit that a setting may use, and raisedShare the GOMEMLIMIT of
	// one that raises GOGC: its heap fills that, and the kernel counts memory that Go does not.
	peakShare, raisedShare = 0.9, 0.8
	// idleCollector is the share of CPU time below which the collector's knobs have no
	// visible effect.
	idleCollector = 0.01
)

// SpaceInput is the input of Space. Zero and nil are unknown, unless a field says
// otherwise.
type SpaceInput struct {
	Base   finding.Arm // the baseline, which is always tried
	CPUs   int         // that the program may use
	Memory int64       // memory limit of the program in bytes; 0 is none
	// Procs is the GOMAXPROCS of the baseline, GC the largest share of its CPU time that the
	// collector may have used.
	Procs *int
	GC    *float64
	// CPUOnly: the collector affects the objective and the constraints only by its CPU
	// time.
	CPUOnly bool
	// Overridden says which knobs the program sets itself, and how: they are not tried.
	Overridden [knobs]string
	// Values are the user's own, by knob. If a knob has some, only these and the
	// baseline's are tried; if not, Space chooses values. An empty text,
	// "default" and "unset" leave a variable unset.
	Values Values
	// Snug are the knobs that snug would set, which are always tried; nil is unknown.
	Snug *finding.Knobs
	// Only reports whether a setting can be tried at all; nil allows every one.
	Only func(finding.Arm) bool
}

// Values are settings to try.
type Values struct {
	GOMAXPROCS []string
	GOGC       []string
	GOMEMLIMIT []string // as Go reads it
}

// value returns the value of a knob in an arm; "" is unset.
func value(a finding.Arm, knob int) string {
	switch knob {
	case procsKnob:
		return a.GOMAXPROCS
	case gogcKnob:
		return a.GOGC
	}
	return a.GOMEMLIMIT
}

// with returns an arm with another value of a knob.
func with(a finding.Arm, knob int, v string) finding.Arm {
	switch knob {
	case procsKnob:
		a.GOMAXPROCS = v
	case gogcKnob:
		a.GOGC = v
	default:
		a.GOMEMLIMIT = v
	}
	return a
}

type space struct {
	SpaceInput
	pruned []finding.Pruned
}

// Space returns the settings to try, the baseline first and those that help most programs
// before the others; the values of each knob in them; and what was left out and why.
//
// Knobs without values of the user's are tried at GOMAXPROCS 1, ⌊q⌋, ⌈q⌉, ⌈q⌉+1 and 2⌈q⌉,
// where q is the quota (without a quota 1, half of the CPUs, and all); at GOGC 200, 400, 800
// and off; and, where there is a memory limit, at snug's GOMEMLIMIT. A raised GOGC always has
// one of 80 % of the limit beside it: it bounds the heap.
func Space(in SpaceInput) ([]finding.Factor, []finding.Arm, []finding.Pruned) {
	s := &space{SpaceInput: in}
	base := s.normal(in.Base)
	all := []finding.Arm{base}
	if in.Snug != nil {
		all = append(all, s.snug())
	}
	procs := s.procs()
	for _, c := range s.collectors() {
		for _, p := range procs {
			a := in.Base
			a.Knobs = finding.Knobs{GOMAXPROCS: p, GOGC: c[0], GOMEMLIMIT: c[1]}
			all = append(all, a)
		}
	}
	for k, how := range s.Overridden {
		if how == "" {
			continue
		}
		s.drop(knobNames[k], "the program sets it itself: %s", how)
		for i := range all {
			all[i] = with(all[i], k, value(base, k))
		}
	}
	all = slices.DeleteFunc(unique(all), func(a finding.Arm) bool {
		off := a.GOGC == "off" && a.GOMEMLIMIT == "" // nothing would start a collection
		return a != base && (off || s.Only != nil && !s.Only(a))
	})
	all[0] = in.Base
	factors := make([]finding.Factor, knobs)
	for k := range factors {
		var values []string
		for _, a := range all {
			values = append(values, value(a, k))
		}
		values = unique(values)
		slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(rank(k, a), rank(k, b)) })
		factors[k] = finding.Factor{Knob: knobNames[k], Values: values}
	}
	return factors, all, s.pruned
}

func (s *space) drop(what, why string, args ...any) {
	s.pruned = append(s.pruned, finding.Pruned{What: what, Why: fmt.Sprintf(why, args...)})
}

// normal returns an arm with one spelling for equal values.
func (s *space) normal(a finding.Arm) finding.Arm {
	a.Knobs = finding.Knobs{GOMAXPROCS: s.procsKey(a.GOMAXPROCS), GOGC: s.gogcKey(a.GOGC),
		GOMEMLIMIT: limitKey(a.GOMEMLIMIT)}
	return a
}

// snug returns what snug would set.
func (s *space) snug() finding.Arm {
	a := s.Base
	a.Knobs = *s.Snug
	return s.normal(a)
}

func unset(v string) bool { return v == "" || v == "default" || v == "unset" }

func (s *space) procsKey(v string) string {
	if unset(v) || s.Base.GOMAXPROCS == "" && s.Procs != nil && v == strconv.Itoa(*s.Procs) {
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

// limitKey leaves GOMEMLIMIT unset for off, which is Go's default.
func limitKey(v string) string {
	if unset(v) || v == "off" {
		return ""
	}
	return v
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
	steps := []int{1, (s.CPUs + 1) / 2, s.CPUs}
	if q := s.Base.Quota; q > 0 {
		c := int(math.Ceil(q))
		steps = []int{1, int(q), c, c + 1, 2 * c}
	}
	slices.Sort(steps)
	for _, n := range slices.Compact(steps) {
		v := strconv.Itoa(n)
		switch {
		case n < 1:
		case n > s.CPUs:
			s.drop("GOMAXPROCS="+v, "more than the %d CPUs that the program may use", s.CPUs)
		default:
			if s.procsKey(v) == "" {
				s.drop("GOMAXPROCS="+v, "the default is that already")
			}
			values = append(values, s.procsKey(v))
		}
	}
	return unique(values)
}

// collectors returns the pairs of GOGC and GOMEMLIMIT to try, those that help most programs
// first.
func (s *space) collectors() [][2]string {
	base := s.normal(s.Base)
	own := [2]bool{len(s.Values.GOGC) > 0, len(s.Values.GOMEMLIMIT) > 0}
	idle := s.CPUOnly && s.GC != nil && *s.GC < idleCollector
	gogcs, limits := []string{base.GOGC}, []string{base.GOMEMLIMIT}
	switch {
	case s.Overridden[gogcKnob] != "": // it stays
	case own[0]:
		gogcs = nil
		for _, v := range s.Values.GOGC {
			gogcs = append(gogcs, s.gogcKey(v))
		}
	case idle:
		s.drop("GOGC", "the collector takes at most %s of the baseline's CPU time", units.Share(*s.GC))
	default:
		gogcs = append(gogcs, "400", "off", "200", "800", "")
		if !s.CPUOnly {
			gogcs = append(gogcs, "50") // for less memory
		}
	}
	switch {
	case own[1]:
		limits = nil
		for _, v := range s.Values.GOMEMLIMIT {
			limits = append(limits, limitKey(v))
		}
	case idle:
		s.drop("GOMEMLIMIT", "the collector takes at most %s of the baseline's CPU time", units.Share(*s.GC))
	case s.Memory == 0:
		s.drop("GOMEMLIMIT", "no memory limit to derive it from")
	default:
		limits = append(limits, s.bound(peakShare))
	}
	chosen := !own[0] && !own[1] && !idle && s.Memory > 0
	var pairs, alone [][2]string
	for _, g := range unique(gogcs) {
		for _, l := range unique(limits) {
			if chosen && g != base.GOGC {
				l = s.bound(raisedShare)
			}
			if pair := [2]string{g, l}; g == base.GOGC && l != base.GOMEMLIMIT {
				alone = append(alone, pair) // a limit alone gains least
			} else {
				pairs = append(pairs, pair)
			}
		}
	}
	return append(unique(pairs), alone...)
}

// bound returns a share of the memory limit as a GOMEMLIMIT; for peakShare that which snug would set, if any.
func (s *space) bound(share float64) string {
	if s.Snug != nil && s.Snug.GOMEMLIMIT != "" && share == peakShare {
		return s.Snug.GOMEMLIMIT
	}
	return units.GoMebibytes(int64(share * float64(s.Memory)))
}

// unique returns the different values, in their order.
func unique[T comparable](values []T) []T {
	var out []T
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
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
