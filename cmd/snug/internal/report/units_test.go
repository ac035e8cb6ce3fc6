// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{units.Duration(619e-6), "619 µs"},
		{units.Duration(.05), "50 ms"},
		{units.Duration(.0512), "51.2 ms"},
		{units.Duration(.9999), "1 s"},
		{units.Duration(90), "90 s"},
		{units.Duration(240), "4 min"},
		{units.Duration(0), "0"},
		{units.Duration(-.05), "-50 ms"},
		{units.Duration(math.NaN()), "-"},
		{units.Duration(3e-9), "3 ns"},
		{units.Rate(1629.6), "1630"},
		{units.Rate(891234), "891 k"},
		{units.Rate(99951), "100 k"},
		{units.Rate(4.2), "4.20"},
		{units.Rate(math.Inf(1)), "-"},
		{units.Share(.976), "97.6 %"},
		{units.Share(0), "0 %"},
		{units.Share(.0001), "<0.1 %"},
		{units.Share(1), "100 %"},
		{units.Change(.965), "-3.5 %"},
		{units.Change(1.139), "+14 %"},
		{units.Change(1), "0 %"},
		{units.Change(.9999), "0 %"},
		{units.Change(12.1), "x12"},
		{units.Change(math.NaN()), "-"},
		{units.ChangeBetween(.965, .959, .971), "-3.5 % [-4.1, -2.9]"},
		{units.ChangeBetween(12.1, 9.8, 15), "x12 [9.8, 15]"},
		{units.ChangeBetween(1.2, math.NaN(), 2), "+20 %"},
		{content.Whole(58.4), "58 s"},
		{content.Whole(872), "15 min"},
		{content.Whole(8 * 3600), "8.0 h"},
		{content.Whole(math.Inf(1)), "-"},
		{page.Typeset("-3.5 % [-4.1, -2.9] worse"), "−3.5\u00a0% [−4.1, −2.9] worse"},
		{page.Typeset("use --full after 2 CPUs and 50 ms, 3 rounds"), "use --full after 2\u00a0CPUs and 50\u00a0ms, 3 rounds"},
		{page.Sentence("http; quota"), "http; quota"},
		{page.Sentence("keep the default"), "Keep the default"},
		{page.Sentence("./orders"), "./orders"},
		{page.Sentence(""), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
