// SPDX-License-Identifier: Apache-2.0

package look

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestPatchOf(t *testing.T) {
	value := func(n float64) finding.SizeValue { return finding.SizeValue{Value: &n} }
	d := &finding.Size{Memory: value(140 << 20), CPURequest: value(0.12), CPULimit: value(1), GOMAXPROCS: value(2), ByGo: true}
	const resources = "resources:\n  requests:\n    cpu: 120m\n    memory: 140Mi\n  limits:\n    cpu: 1000m\n    memory: 140Mi\n"
	if got, _ := patchOf(d); got != resources {
		t.Error(got)
	}
	d.ByGo, d.GOMEMLIMIT = false, value(126<<20)
	if got, _ := patchOf(d); got != resources+"env:\n  - name: GOMAXPROCS\n    value: \"2\"\n  - name: GOMEMLIMIT\n    value: 126MiB\n" {
		t.Error(got)
	}
	d.CPULimit = finding.SizeValue{Why: "the CPU time used is unknown"}
	if got, why := patchOf(d); got != "" || why != d.CPULimit.Why {
		t.Errorf("%q, %s", got, why)
	}
}

func TestPriceOf(t *testing.T) {
	for text, want := range map[string]size.Price{"": size.Fargate, "0.04,0.004": {Core: 0.04, GiB: 0.004}, "1,2": {Core: 1, GiB: 2}} {
		if got, err := priceOf(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "1,", ",1", "1,2,3", "0,1", "1,-1", "NaN,1", "1,Inf", "a,b", "1e9,1", "1,1e-300"} {
		if got, err := priceOf(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
