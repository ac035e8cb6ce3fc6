// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestStepsFitTheRuns(t *testing.T) {
	for _, c := range []struct {
		runs       int
		candidates int
		parameters int
		varied     int
		want       string // arms x rounds
	}{
		{94, 40, 13, 3, "27x1 8x1 4x2 2x5"},
		{594, 40, 13, 3, "40x6 8x11 4x23 2x47"},
		{60, 40, 13, 3, "20x1 8x1 4x1 2x4"},
		{54, 6, 4, 1, "6x2 4x2 2x7"},
		{60, 2, 2, 1, "2x10 2x10"},
		{30, 40, 13, 3, "9x1 4x1"},
		{18, 40, 13, 3, "2x1"},
		{17, 40, 13, 3, "3x1 2x1"},
		{14, 40, 13, 3, "2x1"},
		{13, 40, 13, 3, ""},
	} {
		var parts []string
		sum := 0
		for _, s := range divide(c.runs, c.candidates, c.parameters, c.varied) {
			parts = append(parts, strconv.Itoa(s.Arms)+"x"+strconv.Itoa(s.Rounds))
			sum += s.Runs()
		}
		if got := strings.Join(parts, " "); got != c.want {
			t.Errorf("%d runs for %d settings: %s, want %s", c.runs, c.candidates, got, c.want)
		}
		if rest := c.runs - sum; sum > 0 && rest < 2*leastPairs {
			t.Errorf("%d runs for %d settings: %d are left to confirm", c.runs, c.candidates, rest)
		}
	}
	// Never more than there are, whatever the space.
	for runs := range 200 {
		for candidates := 2; candidates < 60; candidates += 7 {
			for varied := 1; varied <= 4; varied++ {
				steps := divide(runs, candidates, min(candidates, 14), varied)
				if n := runsOf(steps); len(steps) > 0 && n > runs-2*leastPairs {
					t.Fatalf("%d runs for %d settings: %v", runs, candidates, steps)
				}
			}
		}
	}
}

func TestBudgetTooSmallNamesTheMinimum(t *testing.T) {
	in := input(t, "cpu")
	in.Runs, in.Budget, in.PerRun = 0, time.Minute, 6*time.Second
	_, err := Preview(in)
	var e *BudgetError
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if e.Need != 3*time.Minute || !strings.Contains(e.Hint(), "--budget 3m") || !strings.Contains(e.Error(), "budget of 1m ") {
		t.Errorf("%v; %s", e, e.Hint())
	}
	in.Budget = e.Need
	if p, err := Preview(in); err != nil || p.Expected > p.AtMost || p.AtMost != 3*time.Minute || p.Runs < smallest {
		t.Errorf("the smallest useful budget, %v, is too small: %v, %+v", e.Need, err, p)
	}
	in.Budget, in.Runs = 0, 10
	if _, err = Preview(in); !errors.As(err, &e) || e.Need != 0 || e.NeedRuns != smallest {
		t.Errorf("10 runs: %v", err)
	}
}
