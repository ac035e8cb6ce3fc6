// SPDX-License-Identifier: Apache-2.0

package finding

import "testing"

// TestFleetWarns: a warning counts in whichever row it is.
func TestFleetWarns(t *testing.T) {
	row := func(s Severity) Workload {
		return Workload{Findings: []FleetFinding{{Finding: Finding{Severity: s}}}}
	}
	for _, c := range []struct {
		rows []Workload
		want bool
	}{
		{nil, false},
		{[]Workload{{}, row(SeverityInfo)}, false},
		{[]Workload{{}, row(SeverityInfo), row(SeverityWarning)}, true},
		{[]Workload{row(SeverityError), {}}, true},
	} {
		if got := (&Fleet{Workloads: c.rows}).Warns(); got != c.want {
			t.Errorf("%+v: %t", c.rows, got)
		}
	}
}
