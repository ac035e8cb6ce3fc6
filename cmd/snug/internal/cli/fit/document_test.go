// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/reporttest"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestDocumentsRoundTrip writes the documents of every situation down, reads
// them back, and renders both.
func TestDocumentsRoundTrip(t *testing.T) {
	all, err := fixture.LoadAll(os.DirFS("../../../../../testdata/situations"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			at := Place{root: flagvalue.Text(s.Name + fixture.Ext), fsys: s.FS}
			q := Question{At: &at, Policy: &PolicyFlags{}}
			l, p, err := q.Answer(func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			d := LimitsDocument(l, at.Target())
			for _, d := range []finding.Document{d, p, &finding.Verdict{Head: finding.NewHead(finding.KindVerdict), Limits: d, Plan: p}} {
				reporttest.RoundTrip(t, d)
			}
			checkNulls(t, l, d)
		})
	}
}

// TestKnobsUnread: if what a process has set itself cannot be read, the plan says so.
func TestKnobsUnread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the live machine")
	}
	pid := strconv.Itoa(os.Getpid())
	for unread, want := range map[string]int{"": 0, "permission denied": 1} {
		at := Place{pid: flagvalue.PID(os.Getpid())}
		q := Question{At: &at, Policy: &PolicyFlags{}, running: func(int) (plan.Now, string) { return plan.Now{}, unread }}
		_, d, err := q.Answer(func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		gap := finding.Gap{Field: "program", File: "/proc/" + pid + "/mem", Why: "permission denied, so it is unknown what it has set itself"}
		if n := len(slices.DeleteFunc(d.Unknown, func(g finding.Gap) bool { return g != gap })); n != want {
			t.Errorf("%q: %d gaps, want %d", unread, n, want)
		}
	}
}

// checkNulls holds that what is unknown is null or too wide, and listed.
func checkNulls(t *testing.T, l *limits.Limits, d *finding.Limits) {
	t.Helper()
	listed := map[string]bool{}
	for _, g := range d.Unknown {
		listed[g.Field] = true
	}
	for _, f := range []struct {
		name    string
		unknown bool
	}{
		{"cpu.quota_cores", l.CPU.Quota.State == limits.Unknown},
		{"cpu.affinity_cpus", l.CPU.Affinity.State == limits.Unknown},
		{"memory.hard_bytes", l.Memory.Hard.State == limits.Unknown},
		{"memory.soft_bytes", l.Memory.Soft.State == limits.Unknown},
	} {
		if f.unknown && !listed[f.name] {
			t.Errorf("%s is unknown and not listed", f.name)
		}
	}
}
