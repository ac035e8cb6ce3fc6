// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestKilled: rounds that ended with an OOM kill are counted, with an exact interval, and
// the figures that the program printed in them are left out.
func TestKilled(t *testing.T) {
	arm := finding.Arm{Workload: "command", Load: "batch"}
	d := &Design{Arms: []Arm{{Arm: arm}}, Rounds: 4}
	var runs []finding.Run
	for i, kills := range []uint64{0, 1, 0, 2} {
		runs = append(runs, finding.Run{
			Arm: arm, Round: i, OOMKills: &kills, Reported: map[string]float64{"rate": float64(10 * (i + 1))},
		})
	}
	runs = append(runs, finding.Run{Arm: arm, Round: 0, Try: 1, OOMKills: new(uint64(1)), Invalid: "noisy neighbours"})
	c := Cells(d, runs)[0]
	if k := c.Killed; k == nil || k.Rounds != 2 || k.Of != 4 || k.Ratio.Low < .067 || k.Ratio.Low > .068 || k.Ratio.High < .932 || k.Ratio.High > .933 {
		t.Errorf("killed %+v, want 2 of 4, 0.0676 to 0.9324", c.Killed)
	}
	if got := c.Reported["rate"]; got != 20 {
		t.Errorf("median of 10 and 30 is %g", got)
	}
	if *c.OOMKills != 3 {
		t.Errorf("%d kills", *c.OOMKills)
	}
	for i := range runs {
		runs[i].OOMKills = nil
	}
	if c := Cells(d, runs)[0]; c.Killed != nil {
		t.Errorf("where the kernel did not say it is %+v", c.Killed)
	}
}
