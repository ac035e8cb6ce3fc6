// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// compared returns a comparison of profiles in a unit.
func compared(unit finding.Unit) *finding.ProfileDiff {
	change := func(a, b, width float64) finding.Change {
		low, high := b-a-width, b-a+width
		return finding.Change{A: a, B: b, Difference: b - a, Low: &low, High: &high, Shown: low > 0 || high < 0}
	}
	return &finding.ProfileDiff{
		Head: finding.NewHead(finding.KindProfileDiff), Unit: unit, Confidence: 0.95,
		A:     finding.Profiled{Target: "few.pprof", Source: "perf", Seconds: ptr(20.0), CPU: 9.49, Samples: 940},
		B:     finding.Profiled{Target: "http://127.0.0.1:6060/debug/pprof/profile", Source: "runtime/pprof", CPU: 15.7, Samples: 1570},
		Total: finding.Change{A: .475, B: .783, Difference: .308},
		Classes: []finding.ClassDiff{
			{ID: "sched", Words: "scheduling", Change: change(.02, .29, .04)}, {ID: "gc.idle-mark", Words: "marking by idle Ps", Change: change(0, .11, .02)},
			{ID: "user", Words: "code of the program", Change: change(.3, .2, .03)}, {ID: "gc.assist", Words: "marking", Change: change(.03, .05, .03)},
		},
		OverSize: change(.02, .4, .05), GC: change(.1, .12, .04),
		Functions: []finding.FuncDiff{{Function: "main.work", Change: change(.3, .2, .03), Own: change(.2, .2, .01)}, {Function: "main.same", Change: change(.1, .1, .01)}},
		Caveats:   []string{"The samplers differ: perf and runtime/pprof.", strings.Repeat("A long sentence that has to be wrapped. ", 5)},
		Page:      ptr("diff.html"), Next: "snug explain over-size",
	}
}

// changed returns a comparison of diagnoses.
func changed() *finding.DoctorDiff {
	warning, info := finding.SeverityWarning, finding.SeverityInfo
	figures := []finding.FigureDiff{{What: "GOMAXPROCS", Unit: finding.UnitCount, Before: ptr(16.0), After: ptr(2.0)}, {What: "Ps not idle", Unit: finding.UnitMean, Before: ptr(2.8)}}
	return &finding.DoctorDiff{
		Head: finding.NewHead(finding.KindDoctorDiff), Before: "before.json", After: "after.json",
		Targets: []finding.ExaminedDiff{
			{Before: ptr("pid 7 (server)"), After: ptr("pid 8 (server)"), Findings: []finding.FindingDiff{
				{ID: "stale-procs", Title: "GOMAXPROCS is pinned", Change: finding.FindingWent, Before: &warning, Figures: figures[:1]},
				{ID: "over-size", Title: "Too many Ps", Change: finding.FindingLost, Before: &warning, Figures: figures},
				{ID: "gc-cpu", Title: "Collections", Change: finding.FindingStayed, Before: &info, After: &warning, Fix: strings.Repeat("allocate less ", 10)},
			}, Figures: figures[:1], Unknown: []finding.Gap{{Field: "profile", File: "/proc/8", Why: "denied"}}},
			{After: ptr("cpu.pprof")}, {Before: ptr("pid 9 (gone)"), Findings: []finding.FindingDiff{{}}},
		},
		Next: "snug report after.json",
	}
}

// safe checks that a terminal obeys nothing in the text of a document.
func safe(t *testing.T, d finding.Document) {
	t.Helper()
	var b bytes.Buffer
	if err := text.Write(&b, d); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.ContainsFunc(strings.TrimRight(line, "\n"), message.Unprintable) {
			t.Errorf("a terminal would obey %q", line)
		}
	}
}

// TestComparisons: the texts, again after saving, with hostile words and with odd numbers.
func TestComparisons(t *testing.T) {
	documents := map[string]func() finding.Document{
		"profile-diff.txt":       func() finding.Document { return compared(finding.UnitCores) },
		"profile-diff-ratio.txt": func() finding.Document { return compared(finding.UnitRatio) },
		"doctor-diff.txt":        func() finding.Document { return changed() },
	}
	for name, document := range documents {
		var b, again bytes.Buffer
		if err := text.Write(&b, document()); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
		data, err := finding.Encode(document())
		if err != nil {
			t.Fatal(err)
		}
		d, err := finding.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := text.Write(&again, d); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s differs after saving: %v", name, err)
		}
		d = document()
		poison(d, strings.NewReplacer("main.work", hostile, "pid", hostile, "GOMAXPROCS", hostile, "sched", hostile, "samplers", hostile, "diff", hostile))
		safe(t, d)
		for _, x := range []float64{0, -1, 1e-300, 1e300, -1e300, math.NaN(), math.Inf(1)} {
			t.Run(name+fmt.Sprint(x), func(t *testing.T) {
				d := document()
				flood(d, x)
				safe(t, d)
			})
		}
	}
}
