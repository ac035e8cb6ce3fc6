// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

// TestBudget: each bound ends it, and so does that of the sum of several, which has an end of its own.
func TestBudget(t *testing.T) {
	plenty := Amount{Bytes: 1 << 20, Calls: 1 << 10, Time: time.Hour}
	for what, c := range map[string]struct {
		change func(a, sum *Amount)
		reads  int // of ten bytes that succeed
		spent  bool
	}{
		"bytes":           {func(a, _ *Amount) { a.Bytes = 35 }, 3, true},
		"just the bytes":  {func(a, _ *Amount) { a.Bytes = 30 }, 3, true},
		"calls":           {func(a, _ *Amount) { a.Calls = 4 }, 4, true},
		"time":            {func(a, _ *Amount) { a.Time = -1 }, 0, true},
		"bytes of a sum":  {func(_, sum *Amount) { sum.Bytes = 25 }, 2, false},
		"calls of a sum":  {func(_, sum *Amount) { sum.Calls = 1 }, 1, false},
		"none":            {func(a, _ *Amount) { a.Bytes, a.Calls = 0, 0 }, 0, true},
		"more than there": {func(a, _ *Amount) { a.Bytes = 9 }, 0, true},
	} {
		a, sum := plenty, plenty
		c.change(&a, &sum)
		b := NewBudget(t.Context(), a, NewBudget(t.Context(), sum, nil))
		r := b.Within(bytes.NewReader(make([]byte, 1000)))
		reads := 0
		var err error
		for err == nil && reads < 100 {
			if _, err = r.ReadAt(make([]byte, 10), 5); err == nil {
				reads++
			}
		}
		if reads != c.reads || !errors.Is(err, ErrTooMuch) || !errors.Is(b.Over(), ErrTooMuch) || b.Spent() != c.spent {
			t.Errorf("%s: %d reads, %v, %v, spent %v", what, reads, err, b.Over(), b.Spent())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := NewBudget(ctx, plenty, nil)
	if err := b.Take(1); err != nil || b.Over() != nil {
		t.Error(err, b.Over())
	}
	if cancel(); !errors.Is(b.Take(1), context.Canceled) || b.Spent() {
		t.Error(b.Over(), b.Spent())
	}
}
