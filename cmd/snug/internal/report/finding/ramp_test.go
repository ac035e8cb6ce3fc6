// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"testing"
	"time"
)

func TestRamp(t *testing.T) {
	for text, want := range map[string]Ramp{
		"30..100 users in 2m":    {30, 100, 2 * time.Minute},
		"100..30 users in 10s":   {100, 30, 10 * time.Second},
		"5..5 users in 1m30s":    {5, 5, 90 * time.Second},
		"1..10000 users in 1h":   {1, 10000, time.Hour},
		"1..2 users in 20m0.25s": {1, 2, 20*time.Minute + time.Second/4},
	} {
		if got := want.String(); got != text {
			t.Errorf("%v is %q, want %q", want, got, text)
		}
		if got, ok := ParseRamp(text); !ok || got != want {
			t.Errorf("%q is %v, %t; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "saturated", "30 users", "30..100", "..100 users in 2m", "30.. users in 2m", "0..5 users in 2m",
		"5..0 users in 2m", "1..10001 users in 2m", "1..2 users in 9s", "1..2 users in 61m", "1..2 users in ", "1..2..3 users in 2m"} {
		if r, ok := ParseRamp(text); ok {
			t.Errorf("%q is %v", text, r)
		}
	}
	r := Ramp{30, 100, 150 * time.Second}
	if r.Slices() != 120 || (Ramp{Over: 10500 * time.Millisecond}).Slices() != 10 {
		t.Errorf("%d slices", r.Slices())
	}
	if a, b, c := r.Users(0), r.Users(.5), r.Users(1); a != 30 || b != 65 || c != 100 {
		t.Errorf("users %g, %g, %g", a, b, c)
	}
}
