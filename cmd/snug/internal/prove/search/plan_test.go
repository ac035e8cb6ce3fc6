// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPlanFitsTheBudget(t *testing.T) {
	for _, c := range []struct {
		budget     time.Duration
		candidates int
		parameters int
		want       string // arms x rounds
	}{
		{10 * time.Minute, 40, 13, "1x6 37x1 8x1 4x3 2x8 2x10"},
		{time.Hour, 40, 13, "1x6 40x7 8x12 4x24 2x51 2x10"},
		{10 * time.Minute, 6, 4, "1x6 6x6 4x4 2x11 2x10"},
		{10 * time.Minute, 2, 2, "1x6 2x18 2x19 2x10"},
		{10 * time.Minute, 1, 1, "1x6"},
		{6 * time.Minute, 40, 13, "1x6 17x1 8x1 4x1 2x2 2x10"},
	} {
		p, err := newPlan(0, c.budget, 6*time.Second, c.candidates, c.parameters)
		if err != nil {
			t.Errorf("%v for %d settings: %v", c.budget, c.candidates, err)
			continue
		}
		var parts []string
		for _, s := range p.Steps {
			parts = append(parts, strconv.Itoa(s.Arms)+"x"+strconv.Itoa(s.Rounds))
		}
		if got := strings.Join(parts, " "); got != c.want {
			t.Errorf("%v for %d settings: %s, want %s", c.budget, c.candidates, got, c.want)
		}
		if p.Duration() > c.budget || c.candidates > 1 && p.Duration() < c.budget*9/10 {
			t.Errorf("%v for %d settings: the plan takes %v", c.budget, c.candidates, p.Duration())
		}
	}
}

func TestBudgetTooSmallNamesTheMinimum(t *testing.T) {
	_, err := newPlan(0, 3*time.Minute, 6*time.Second, 40, 13)
	var e *BudgetError
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(e.Hint(), e.Need.String()) || !strings.Contains(e.Error(), "3m0s") {
		t.Errorf("%v; %s", e, e.Hint())
	}
	if _, err := newPlan(0, e.Need, 6*time.Second, 40, 13); err != nil {
		t.Errorf("the smallest useful budget, %v, is too small: %v", e.Need, err)
	}
	if _, err := newPlan(0, e.Need-10*time.Second, 6*time.Second, 40, 13); err == nil {
		t.Errorf("less than the smallest useful budget, %v, is enough", e.Need)
	}
	_, err = newPlan(10, 0, 0, 40, 13)
	if !errors.As(err, &e) || e.Need != 0 || e.NeedRuns != 6+15+14+20 {
		t.Errorf("10 runs: %v", err)
	}
}
