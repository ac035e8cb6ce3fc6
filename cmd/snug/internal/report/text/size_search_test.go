// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func searched() *finding.Size {
	value := func(n float64) finding.SizeValue {
		return finding.SizeValue{Value: &n, Why: finding.Why{Code: finding.SizeAsTried}}
	}
	rate, worst, slow, answer, cheaper := 300.0, 0.012, 0.2, 1, 2
	return &finding.Size{Head: finding.NewHead(finding.KindSize), Target: "./server", Memory: value(64 << 20), CPULimit: value(0.5), CPURequest: value(0.5), Unseen: []finding.Why{{Code: finding.SizeSmallest}},
		Search: &finding.SizeSearch{Bound: "p99<50ms", Metric: "p99_seconds", Rate: &rate, Shown: true, Answer: &answer, Cheaper: &cheaper, Tried: []finding.SizeTrial{
			{Memory: 4 << 30, CPU: 2, Kept: 1, Of: 1, Worst: &worst},
			{Memory: 64 << 20, CPU: 0.5, Kept: 1, Of: 1, Worst: &worst, Fresh: &finding.SizeFresh{Kept: 3, Of: 3}, Predicted: true},
			{Memory: 64 << 20, CPU: 0.3, Of: 1, Worst: &slow, Fresh: &finding.SizeFresh{Of: 3}, Broken: &finding.Broken{Code: finding.BrokeBound, Bound: "p99<50ms"}},
			{Memory: 32 << 20, CPU: 0.5, Of: 1, Broken: &finding.Broken{Code: finding.BrokeMemory}},
			{Memory: 36 << 20, CPU: 0.5, Of: 1, Broken: &finding.Broken{Code: finding.BrokeErrors}, Runs: []finding.Run{{}, {Ops: 8, Errors: 2, Error: "EOF\x1b"}}},
		}}}
}

func TestSizeSearch(t *testing.T) {
	d := searched()
	written := func(d *finding.Size) string {
		var b strings.Builder
		if err := Write(&b, d); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	got := written(d)
	for _, want := range []string{"./server: 64 MiB of memory and 0.5 CPUs keep p99<50ms at 300/s\n", "WORST P99", "3 of 3  12.0 ms", "this one; predicted\n", "0 of 3  200 ms\n",
		"OOM-killed\n", "2 of 10 requests failed: EOF", "the roomiest, watched\n", "not shown: where it breaks: it is the smallest that is tried\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	d.Search.Shown, d.Search.Answer, d.Search.Bound, d.Search.Metric = false, nil, "", ""
	d.Memory = finding.SizeValue{Why: finding.Why{Code: finding.SizeNothing, Of: "it"}}
	if got = written(d); !strings.HasPrefix(got, "./server: not shown: no container kept it in all of its fresh runs\n\nCPUS ") || strings.Contains(got, "CPU limit") {
		t.Errorf("%s", got)
	}
	written(&finding.Size{Search: &finding.SizeSearch{}}) // a damaged document
}
