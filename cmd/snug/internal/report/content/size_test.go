// SPDX-License-Identifier: Apache-2.0

package content

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestSizePatch(t *testing.T) {
	value := func(n float64) finding.SizeValue { return finding.SizeValue{Value: &n} }
	d := &finding.Size{Memory: value(140 << 20), CPURequest: value(0.12), CPULimit: value(1), GOMAXPROCS: value(2), ByGo: true}
	const resources = "resources:\n  requests:\n    cpu: 120m\n    memory: 140Mi\n  limits:\n    cpu: 1000m\n    memory: 140Mi\n"
	if got, _ := SizePatch(d); got != resources {
		t.Error(got)
	}
	d.ByGo, d.GOMEMLIMIT = false, value(126<<20)
	if got, _ := SizePatch(d); got != resources+"env:\n  - name: GOMAXPROCS\n    value: \"2\"\n  - name: GOMEMLIMIT\n    value: 126MiB\n" {
		t.Error(got)
	}
	d.CPULimit = finding.SizeValue{Why: finding.Why{Code: finding.SizeCPUUnknown}}
	if got, why := SizePatch(d); got != "" || why.Code != finding.SizeCPUUnknown {
		t.Errorf("%q, %v", got, why)
	}
}
