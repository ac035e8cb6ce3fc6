// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// flameDiff compares profiles of 10 s. The document has what the page takes from it.
func flameDiff(t *testing.T, a, b *profile.Profile) string {
	t.Helper()
	a.DurationNanos, b.DurationNanos = int64(10*time.Second), int64(10*time.Second)
	c, err := cpuprof.Compare(a, b, false)
	if err != nil {
		t.Fatal(err)
	}
	d := &finding.ProfileDiff{Unit: finding.UnitCores, A: finding.Profiled{Target: "a<b>"}, B: finding.Profiled{Target: "b"}, Confidence: .95, Caveats: []string{"1 < 2"}}
	for _, x := range c.Classes {
		d.Classes = append(d.Classes, finding.ClassDiff{ID: string(x.Class), Words: x.Class.Words(),
			Change: finding.Change{A: x.A, B: x.B, Difference: x.Difference(), Low: &x.Low, High: &x.High, Shown: x.Shown()}})
	}
	var page bytes.Buffer
	if err := FlameDiff(&page, c, d); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(page.String(), "\u00a0", " ")
}

// TestFlameDiff: frames have the amounts of both profiles, and a sign and a colour where they differ.
func TestFlameDiff(t *testing.T) {
	some := func(n int, stack string) []string { return slices.Repeat([]string{stack}, n) }
	a := stacked(10, slices.Concat(some(300, "main.work main.main"), some(200, "main.old main.main"))...)
	b := stacked(10, slices.Concat(some(300, "main.work main.main"), some(200, "runtime.findRunnable runtime.mcall"))...)
	got := flameDiff(t, a, b)
	for _, want := range []string{
		"<h1>B used 0 CPUs, A 0: more in sched +0.2; less in user −0.2</h1>",
		`<g class="f less3" `, `<g class="f more3" `, `<g class="f even" `, `<g class="f all" `,
		"<title>main.old\nA 0.2, B 0: -0.2 [", "<title>main.work\nA 0.3, B 0.3: ~ [-0.0",
		`data-t="+ "><title>runtime.findRunnable` + "\nA 0, B 0.2: +0.2 [", ">− main.old</text>",
		"<title>a&lt;b&gt; and b</title>", "1 &lt; 2", `<rect class="more3" width="14"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(got[strings.Index(got, "<main"):min(len(got), strings.Index(got, "<main")+6000)])
	}
	if empty := flameDiff(t, stacked(10), stacked(10)); !strings.Contains(empty, "no CPU time") || strings.Contains(empty, "<script>") {
		t.Error(empty)
	}
}
