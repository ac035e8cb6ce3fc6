// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// testSameSettings: GOGC is 100 by default, so the two settings are equal.
//
// Each comparison has a false-alarm rate of at most 5 % by construction
// (TestFalseAlarms of package stats). There are a few comparisons. The test fails only
// if a second experiment with other seeds confirms a difference: in less than 1 % of
// the cases.
func testSameSettings(t *testing.T, l *faultLab) {
	alarms := map[string]bool{}
	for _, seed := range []string{"1", "2"} {
		o := l.start(t, "", strings.Fields("bench --gogc 100 --gomaxprocs default --rounds 7 --warmup 100ms --window 300ms --json --seed "+seed)...).wait(t)
		if o.code != 0 {
			t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
		}
		d := benchDocument(t, o)
		if len(d.Cells) != 2 || len(d.Comparisons) == 0 {
			t.Fatalf("%d settings, %d comparisons; want 2 settings", len(d.Cells), len(d.Comparisons))
		}
		again := map[string]bool{}
		for _, c := range d.Comparisons {
			if c.Word == finding.Better || c.Word == finding.Worse {
				t.Logf("seed %s: %s is %s, %g", seed, c.Metric, c.Word, c.Ratio)
				again[c.Metric+c.Word] = seed == "1" || alarms[c.Metric+c.Word]
			}
		}
		alarms = again
		if len(alarms) == 0 {
			return
		}
	}
	for name, both := range alarms {
		if both {
			t.Errorf("%s: twice a difference between a setting and itself", name)
		}
	}
}
