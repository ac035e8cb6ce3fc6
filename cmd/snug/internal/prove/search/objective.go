// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// Objective is what a search optimizes, see [ParseObjective]. The zero Objective is not
// valid.
type Objective struct{ figure }

// margins are the metrics that a search can optimize, and for each the relative
// difference that does not count: about what 10 pairs of runs of a few seconds can show.
var margins = map[string]float64{"cpu": 0.02, "rps": 0.03, "p99": 0.10, "wall": 0.02}

// ParseObjective parses cpu (CPU seconds per operation), rps, p99 or wall; the empty text
// is cpu.
func ParseObjective(text string) (Objective, error) {
	if text == "" {
		text = "cpu"
	}
	m, ok := figureOf(text)
	if _, aim := margins[text]; !ok || !aim {
		return Objective{}, fmt.Errorf("unknown objective, %q: want cpu, rps, p99 or wall", text)
	}
	return Objective{m}, nil
}

// String returns the objective as it was written.
func (o Objective) String() string { return o.name }

// Constraint bounds a metric of every setting that may win, see [ParseConstraint]. The
// zero Constraint is not valid.
type Constraint struct {
	figure
	strict bool
	bound  float64 // in the metric's unit
	text   string
}

// String returns the constraint without spaces.
func (c Constraint) String() string { return c.text }

// ParseConstraint parses a bound such as p99<20ms, rss<=400MiB, rps>=1000, errors<=0,
// throttled<5%, cpu<1.5ms or wall<=3s. Times are Go durations, sizes are those of snug's
// flags, and shares are 5% or 0.05.
func ParseConstraint(text string) (Constraint, error) {
	fail := func(format string, args ...any) (Constraint, error) {
		return Constraint{}, fmt.Errorf("constraint %q: %s", text, fmt.Sprintf(format, args...))
	}
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return fail("no comparison: want for example p99<20ms")
	}
	name, sign := strings.TrimSpace(text[:at]), text[at:at+1]
	rest, equal := strings.CutPrefix(text[at+1:], "=")
	rest = strings.TrimSpace(rest)
	m, ok := figureOf(name)
	if !ok {
		var known []string
		for _, m := range figures {
			known = append(known, m.name)
		}
		return fail("unknown figure, %q: want one of %s", name, strings.Join(known, ", "))
	}
	good := "<"
	if m.More {
		good = ">"
	}
	if sign != good {
		return fail("wrong comparison: want %s%s=%s", name, good, m.example)
	}
	bound, ok := m.parse(rest)
	if !ok {
		return fail("not a bound of %s, %q: want for example %s%s=%s", name, rest, name, good, m.example)
	}
	if equal {
		sign += "="
	}
	return Constraint{m, !equal, bound, name + sign + rest}, nil
}

// holds reports whether a value of the metric is within the bound.
func (c Constraint) holds(v float64) bool {
	if c.More {
		v, c.bound = -v, -c.bound
	}
	return v < c.bound || v == c.bound && !c.strict
}

// share reports whether the metric is a share, which may be 0.
func (c Constraint) share() bool { return c.Unit == metric.Ratio }
