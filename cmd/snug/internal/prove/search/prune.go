// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

const (
	// minLimit is how many live heaps GOMEMLIMIT must hold. Below it the collector runs
	// all the time (golang/go#58106).
	minLimit = 1.3
	// unreached: with a predicted peak below this share of GOMEMLIMIT, the limit is
	// expected to change nothing.
	unreached = 0.8
	// exceeded: with a predicted peak above this multiple of GOMEMLIMIT, the limit alone
	// is expected to decide when to collect.
	exceeded = 1.25
	// idleCollector is the share of CPU time below which the collector's knobs have no
	// visible effect.
	idleCollector = 0.01
	// sameLimit is the relative difference up to which two values of GOMEMLIMIT count as
	// equal: the live heap varies more from run to run.
	sameLimit = 0.01
	mib       = 1 << 20
)

var gogcValues = []string{"50", "", "200", "400", "800", "off"}

// collectors lists the pairs of GOGC and GOMEMLIMIT to try.
//
// It leaves out a pair that, by the model, cannot fit or changes nothing. A pair whose
// values are both the user's own is always tried.
func (s *space) collectors() []collector {
	base := collector{s.gogcKey(s.Base.GOGC), s.limitKey(s.Base.GOMEMLIMIT)}
	ownGC, ownLimit := len(s.Values.GOGC) > 0, len(s.Values.GOMEMLIMIT) > 0
	var gogcs, limits []string
	idle := s.CPUOnly && s.GC != nil && *s.GC < idleCollector
	switch {
	case ownGC:
		for _, v := range s.Values.GOGC {
			gogcs = append(gogcs, s.gogcKey(v))
		}
	case idle:
		s.drop("GOGC", "the collector takes at most %s of the baseline's CPU time", units.Share(*s.GC))
		gogcs = append(gogcs, base.gogc)
	default:
		gogcs = append(append(gogcs, base.gogc), gogcValues...)
	}
	switch {
	case ownLimit:
		for _, v := range s.Values.GOMEMLIMIT {
			limits = append(limits, s.limitKey(v))
		}
	case idle:
		s.drop("GOMEMLIMIT", "the collector takes at most %s of the baseline's CPU time", units.Share(*s.GC))
		limits = append(limits, base.limit)
	case s.Memory == 0:
		s.drop("GOMEMLIMIT", "no memory limit to derive it from")
		limits = append(limits, base.limit, "")
	default:
		limits = append(append(limits, base.limit), s.shares()...)
	}
	gogcs, limits = unique(gogcs), unique(limits)

	var pairs []collector
	left := map[string][]string{} // reason to values of GOGC, for one GOMEMLIMIT
	for _, l := range limits {
		var order []string
		clear(left)
		for _, g := range gogcs {
			c := collector{g, l}
			why := ""
			if c != base && !(ownGC && ownLimit) {
				why = s.unfit(c, gogcs)
			}
			if why == "" {
				pairs = append(pairs, c)
				continue
			}
			if left[why] == nil {
				order = append(order, why)
			}
			if g == "" {
				g = "unset"
			}
			left[why] = append(left[why], g)
		}
		for _, why := range order {
			s.drop(fmt.Sprintf("GOGC=%s with %s", strings.Join(left[why], ", "), named(limitKnob, l)), "%s", why)
		}
	}
	return pairs
}

// shares returns 70, 80 and 90 % of the memory limit, in whole MiB, and unset. A value
// that is about equal to another is replaced by it, see limitKey.
func (s *space) shares() []string {
	values := []string{""}
	for _, percent := range []int64{70, 80, 90} {
		n := s.Memory / 100 * percent
		v := strconv.FormatInt(n/mib, 10) + "MiB"
		if n < mib {
			v = strconv.FormatInt(n, 10) + "B"
		}
		if m, _ := plan.ParseBytes(v); s.Live != nil && float64(m) < minLimit**s.Live {
			s.drop(named(limitKnob, v), "less than %v times the live heap, %s: the collector would run all the time",
				minLimit, units.Bytes(int64(*s.Live)))
			continue
		}
		same := s.limitKey(v)
		if same != v {
			s.drop(named(limitKnob, v), "within %s of %s, which is tried", units.Share(sameLimit), named(limitKnob, same))
		}
		values = append(values, same)
	}
	return values
}

// unfit returns why a pair is not tried; "" if it is.
func (s *space) unfit(c collector, gogcs []string) string {
	limit := 0.0
	if n, ok := plan.ParseBytes(c.limit); ok {
		limit = float64(n)
	}
	if c.gogc == "off" && limit == 0 {
		return "nothing would start a collection"
	}
	if s.Live == nil {
		return ""
	}
	peak := s.peak(c.gogc)
	if limit == 0 {
		if bound := peakShare * float64(s.Memory); s.Memory > 0 && peak >= bound {
			return fmt.Sprintf("the predicted peak of %s is not below %s of the memory limit, %s",
				units.Bytes(int64(peak)), units.Share(peakShare), units.Bytes(s.Memory))
		}
		return ""
	}
	if peak < unreached*limit && len(s.Values.GOMEMLIMIT) == 0 {
		return fmt.Sprintf("the predicted peak of %s stays below it: the same as without", units.Bytes(int64(peak)))
	}
	for _, less := range gogcs {
		if p := s.peak(less); exceeded*limit < p && p < peak && len(s.Values.GOGC) == 0 {
			return "the limit decides when to collect: the same as a lower GOGC with it"
		}
	}
	return ""
}

// peak returns the predicted peak of the memory. The heap grows from the live heap, L, to
// L(1+GOGC/100) before a collection; stacks, globals and the rest of the process add to
// it (the GOGC model of the GC guide, which counts the roots to L). It is +Inf for
// GOGC=off.
func (s *space) peak(gogc string) float64 {
	switch gogc {
	case "":
		gogc = "100"
	case "off":
		return math.Inf(1)
	}
	percent, _ := strconv.ParseFloat(gogc, 64)
	return *s.Live*(1+percent/100) + s.Other
}
