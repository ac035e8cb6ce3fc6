// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// UnmeasuredError reports a baseline that cannot be improved on, because a figure is
// missing.
type UnmeasuredError struct {
	What string // what is missing, and why, in one line
	Cure string
}

func (e *UnmeasuredError) Error() string { return e.What }

// Hint returns the cure.
func (e *UnmeasuredError) Hint() string { return e.Cure }

// checkBaseline fails if the baseline has no figure for the objective or a constraint. A
// baseline that runs out of memory needs none: any setting that survives is better.
func (s *search) checkBaseline() error {
	if slices.ContainsFunc(s.runs, func(r finding.Run) bool { return killed(&r) }) {
		return nil
	}
	reason := ""
	for _, r := range s.runs {
		for _, why := range []string{r.Invalid, r.Error, r.Exit} {
			if why != "" && reason == "" {
				reason = ": " + why
			}
		}
	}
	wanted := []figure{s.in.Objective.figure}
	for _, c := range s.in.Constraints {
		wanted = append(wanted, c.figure)
	}
	for i, m := range wanted {
		if slices.ContainsFunc(s.runs, func(r finding.Run) bool { return r.Invalid == "" && m.Run(&r) != nil }) {
			continue
		}
		e := &UnmeasuredError{m.Words + " was not measured by any run of the baseline" + reason,
			"run the program by hand under the same limits, and see why"}
		switch {
		case reason != "":
		case i == 0:
			e.Cure = "name another --objective, or a load that has it"
		default:
			e.Cure = "leave the constraint out, or name a load that has it"
		}
		return e
	}
	return s.checkTails()
}

// checkTails fails if P99 is the objective and the confirmation cannot compare it: because
// the load command is a closed loop, or a run has too few requests.
func (s *search) checkTails() error {
	rate := s.in.Base.Rate
	closed := func(r finding.Run) bool { return r.Loop == finding.LoopClosed }
	if s.in.Objective.name == "p99" && slices.ContainsFunc(s.runs, closed) {
		return &UnmeasuredError{
			"the load command is a closed loop, and its latencies are not compared",
			`if it sends at its own times and not after an answer, it must print "open": true; else name another --objective`,
		}
	}
	if s.in.Objective.name != "p99" || !experiment.OpenLoop(s.in.Base.Arm) || len(s.runs) == 0 {
		return nil
	}
	if n := rate * s.runs[0].Window; n > 0 && n < experiment.MinRequests {
		return &UnmeasuredError{
			fmt.Sprintf("too few requests for a P99 at %s/s: a run has %.0f, and it takes %d",
				units.Trim(units.Figures(rate, 3)), n, experiment.MinRequests),
			fmt.Sprintf("give it --window %ds", int(math.Ceil(experiment.MinRequests/rate))),
		}
	}
	return nil
}

func killed(r *finding.Run) bool { return r.OOMKills != nil && *r.OOMKills > 0 }
