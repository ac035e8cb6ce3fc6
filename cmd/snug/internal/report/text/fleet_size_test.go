// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestFleetSize: a row for each workload with what it has, needs and saves; with one workload its reasons.
func TestFleetSize(t *testing.T) {
	web := finding.SizedWorkload{
		Namespace: new("shop"), Name: new("Deployment/web"), Container: new("app"), Containers: 3, Days: 0.5,
		Memory: finding.SizeValue{Value: new(200.0 * (1 << 20)), Least: new(150.0 * (1 << 20)), Why: finding.Why{Code: finding.SizeCheapest}}, CPURequest: finding.SizeValue{Value: new(0.25)},
		HasMemory: finding.Span[float64]{Least: figure.New(128.0*(1<<20), ""), Most: figure.New(256.0*(1<<20), "")}, HasRequest: finding.Span[float64]{Unknown: 3},
		Saves: new(-0.0012), Risks: []finding.Why{{Code: finding.SizeKilled, Numbers: []float64{1 << 20}}}, Seen: finding.SizeSeen{Limit: figure.New(int64(512<<20), "")}, Unseen: []finding.Why{{Code: finding.SizeSmallest}},
	}
	d := &finding.FleetSize{Agents: 2, Costs: 0.0012, Price: finding.SizePrice{Core: 1, GiB: 0.5, From: "--price"}, Workloads: []finding.SizedWorkload{web}, Gone: 1, LeftOut: 2}
	var b strings.Builder
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 workload on 2 nodes, 1 at risk; 0 could be saved, 0.00120 more is needed\n",
		"shop/Deployment/web/app  3     12 h  128 MiB to 256 MiB  200 MiB  ?            0.25   -0.00120  may be killed: it needs 1 MiB at least; seen for less than a day; all memory in use counts, garbage too\n",
		"memory limit  200 MiB  150 MiB   512 MiB  the cheapest: more memory costs more than its collections do, less saves less\n", "not seen: where it breaks: it is the smallest that is tried\n", "not listed: 1 workload without", "not kept: 2 workloads of",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	d.Workloads = append(d.Workloads, web)
	b.Reset()
	if err := Write(&b, d); err != nil || strings.Contains(b.String(), "the cheapest") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := Write(&b, &finding.FleetSize{Agents: 2}); err != nil || !strings.HasPrefix(b.String(), "no Go workload was seen for two scans on 2 nodes\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
