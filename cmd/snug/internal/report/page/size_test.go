// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestSizeSearch: the page of an experiment shows what was tried, and no curve of the watch.
func TestSizeSearch(t *testing.T) {
	n := func(n float64) *float64 { return &n }
	d := &finding.Size{Head: finding.NewHead(finding.KindSize), Target: "./server", Memory: finding.SizeValue{Value: n(76 << 20), Why: finding.Why{Code: finding.SizeCheapest}}, CPULimit: finding.SizeValue{Value: n(0.15)},
		Curve: []finding.SizePoint{{Memory: 99 << 20}}, Unseen: []finding.Why{{Code: finding.SizeOtherLoads, Numbers: []float64{5}}},
		Search: &finding.SizeSearch{Shown: true, Bound: "p99<50ms", Metric: "p99_seconds", Rate: n(100), Answer: new(int), Tried: []finding.SizeTrial{{Memory: 76 << 20, CPU: 0.15, Kept: 1, Of: 1, Worst: n(0.04)}}}}
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), "\u00a0", " ")
	for _, want := range []string{"./server: 76 MiB of memory and 0.15 CPUs keep p99&lt;50ms at 100/s", "What was tried", "1 of 1", "this one; the roomiest, watched", "40.0 ms", "Not shown: peaks that runs of 5 s do not have, and other loads: nothing is added for them."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "Memory limits around the answer") || strings.Contains(text, "99 MiB") {
		t.Error("the curve of the watch")
	}
}
