// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestStagesFitTheRuns(t *testing.T) {
	for _, c := range []struct {
		runs, candidates int
		want             string // settings of each stage, and the runs of the confirmation
	}{
		{250, 18, "18 9 5 3 64"},
		{70, 18, "18 9 5 3 23"},
		{60, 12, "12 6 3 20"},
		{54, 44, "26 7 3 18"},
		{40, 12, "12 6 3 16"},
		{30, 12, "11 3 16"},
		{20, 12, "4 16"},
		{17, 12, "4 12"},
		{15, 12, "3 12"},
		{15, 2, "2 12"},
		{13, 12, "12"},
	} {
		sizes, reserve := divide(c.runs, c.candidates)
		if got := strings.Trim(fmt.Sprint(append(sizes, reserve)), "[]"); got != c.want {
			t.Errorf("%d runs for %d settings: %s, want %s", c.runs, c.candidates, got, c.want)
		}
	}
	// Never more than there are.
	for runs := range 200 {
		for candidates := 2; candidates < 60; candidates += 7 {
			sizes, sum := divide(runs, candidates)
			for _, n := range sizes {
				sum += n
			}
			if len(sizes) > 0 && sum > runs {
				t.Fatalf("%d runs for %d settings: %v", runs, candidates, sizes)
			}
		}
	}
}

func TestBudgetTooSmallNamesTheMinimum(t *testing.T) {
	in := input(t, "cpu")
	in.Budget, in.PerRun = time.Minute, 6*time.Second
	_, err := Preview(in)
	var e *BudgetError
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if e.Need != 2*time.Minute || !strings.Contains(e.Hint(), "--budget 2m") || !strings.Contains(e.Error(), "budget of 1m ") {
		t.Errorf("%v; %s", e, e.Hint())
	}
	in.Budget = e.Need
	if _, err := Preview(in); err != nil {
		t.Errorf("the smallest useful budget, %v, is too small: %v", e.Need, err)
	}
}
