// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// MinRequests is how many requests a run of an open loop needs for its P99 to be
// compared: ten lie above it.
const MinRequests = 1000

const (
	// usedUp is the share of its quota at which a program counts as saturated.
	usedUp = 0.95
	// busy is the share of the CPUs available to it below which a program under a
	// saturating load is not saturated.
	busy = 0.9
	// otherCPUs is how many CPUs other programs must use to be named as a reason.
	otherCPUs = 0.2
	// achieved is the share of the offered load that a setting must serve.
	achieved = 0.995
)

// loads returns the loads that were not what they should be: a saturating load must
// saturate, and an open loop must be below saturation, be served by every setting, and
// have enough requests.
func loads(d *Design, cells []finding.Cell, machineCPUs int) []finding.Unshown {
	var out []finding.Unshown
	for i := range cells {
		if _, ok := d.baseline(i); !ok {
			for _, u := range []*finding.Unshown{saturation(&cells[i]), unsaturated(&cells[i], machineCPUs)} {
				if u != nil {
					u.Cells = []int{i}
					out = append(out, *u)
				}
			}
		}
	}
	return append(append(out, unserved(d, cells)...), tooFew(d, cells)...)
}

// saturation reports that a share of capacity left the baseline no headroom. Capacity is
// measured in a closed loop, where a request costs less CPU because one wake-up serves
// more of them.
func saturation(c *finding.Cell) *finding.Unshown {
	if !strings.HasSuffix(c.Load, "%") || c.Quota <= 0 {
		return nil
	}
	used, ok := medianOf(c, usedCPUs)
	if !ok || used < usedUp*c.Quota {
		return nil
	}
	return &finding.Unshown{Code: finding.UnshownHeadroom, Used: used}
}

// unsaturated reports that a saturating load left CPU time of the baseline unused. The
// load generator needs CPUs too, and is named if it used some.
func unsaturated(c *finding.Cell, machineCPUs int) *finding.Unshown {
	if c.Load != "saturated" {
		return nil
	}
	could := couldUse(c, machineCPUs)
	used, ok := medianOf(c, usedCPUs)
	if !ok || used >= busy*could {
		return nil
	}
	u := &finding.Unshown{Code: finding.UnshownCapacity, Used: used, Could: could}
	if x, ok := medianOf(c, func(r finding.Run) (float64, bool) {
		return or(r.Noise.OtherCPUs), r.Noise.OtherCPUs != nil
	}); ok && x >= otherCPUs {
		u.Others = x
	}
	if x, ok := medianOf(c, generatorCPUs); ok && x >= otherCPUs {
		u.Generator = x
	}
	return u
}

// couldUse returns how many CPUs a cell could use: at most its quota, its Ps and those of
// the machine.
func couldUse(c *finding.Cell, machineCPUs int) float64 {
	could := float64(machineCPUs)
	if c.Quota > 0 {
		could = min(could, c.Quota)
	}
	if c.Procs != nil {
		could = min(could, float64(*c.Procs*max(1, c.Replicas)))
	}
	return could
}

// usedCPUs returns how many CPUs a run used on average.
func usedCPUs(r finding.Run) (float64, bool) {
	if r.CPU == nil || elapsed(r) <= 0 {
		return 0, false
	}
	return *r.CPU / elapsed(r), true
}

func generatorCPUs(r finding.Run) (float64, bool) {
	if r.Generator == nil || r.Generator.CPU == nil || elapsed(r) <= 0 {
		return 0, false
	}
	return *r.Generator.CPU / elapsed(r), true
}

// unserved returns the settings that served less than the offered load. Rate times mean
// latency requests are under way when the window ends; these are not missing.
func unserved(d *Design, cells []finding.Cell) []finding.Unshown {
	type group struct {
		workload string
		quota    float64
		rate     string
	}
	at := map[group]int{} // index into out
	var out []finding.Unshown
	for i := range cells {
		c := &cells[i]
		if !openLoop(c) {
			continue
		}
		short, ok := medianOf(c, func(r finding.Run) (float64, bool) {
			latency, ok := meanLatency(r)
			if !ok || r.RPS == nil || r.Offered == nil || *r.Offered <= 0 || r.Window <= 0 {
				return 0, false
			}
			return achieved - latency/r.Window - *r.RPS / *r.Offered, true
		})
		if !ok || short <= 0 {
			continue
		}
		rate := d.Arms[i].Rate
		if rate <= 0 {
			rate, _ = medianOf(c, func(r finding.Run) (float64, bool) { return or(r.Offered), r.Offered != nil })
		}
		g := group{c.Workload, c.Quota, units.Figures(rate, 3)}
		k, ok := at[g]
		if !ok {
			k = len(out)
			at[g], out = k, append(out, finding.Unshown{Code: finding.UnshownQueue, Rates: []float64{rate}})
		}
		out[k].Cells = append(out[k].Cells, i)
	}
	return out
}

// meanLatency returns the mean latency of a run in seconds, its P50 if there is no
// histogram.
func meanLatency(r finding.Run) (float64, bool) {
	if whole(r.Latency) {
		sum, n := 0.0, 0.0
		for i, v := range r.Latency.Seconds {
			sum, n = sum+v*float64(r.Latency.Counts[i]), n+float64(r.Latency.Counts[i])
		}
		if n > 0 {
			return sum / n, true
		}
	}
	return or(r.P50), r.P50 != nil
}

// fewRequests reports whether an open loop sends too few requests in a run for a P99. It
// uses the rate, which is the same for all arms, and not the number of answers. A load
// command that is an open loop may have a rate of its own, so its answers count.
func fewRequests(a Arm, c finding.Cell) bool {
	runs := valid(c.Rounds)
	if a.Rate <= 0 && c.Loop() == finding.LoopOpen && len(runs) > 0 {
		return runs[0].Ops+runs[0].Errors < MinRequests
	}
	if !OpenLoop(a.Arm) || a.Rate <= 0 || len(runs) == 0 || runs[0].Window <= 0 {
		return false
	}
	return a.Rate*runs[0].Window < MinRequests
}

func tooFew(d *Design, cells []finding.Cell) []finding.Unshown {
	var rates []float64
	for i := range cells {
		if _, ok := d.baseline(i); ok && d.Arms[i].Rate > 0 && openLoop(&cells[i]) && fewRequests(d.Arms[i], cells[i]) {
			rates = append(rates, d.Arms[i].Rate)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	return []finding.Unshown{{
		Code: finding.UnshownP99, Rates: rates, Least: MinRequests, Window: int(math.Ceil(MinRequests / rates[0])),
	}}
}

// medianOf returns the median of a figure over the runs that count and have it.
func medianOf(c *finding.Cell, of func(finding.Run) (float64, bool)) (float64, bool) {
	var x []float64
	for _, r := range valid(c.Rounds) {
		if v, ok := of(r); ok {
			x = append(x, v)
		}
	}
	if len(x) == 0 {
		return 0, false
	}
	return stats.Median(x), true
}
