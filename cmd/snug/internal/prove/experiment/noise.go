// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// noiseMADs is how far above the median, in median absolute deviations, the CPU use
	// of others makes a run noisy.
	noiseMADs = 3
	// minNoise is the least noise, in CPUs above the median. /proc/stat counts in
	// hundredths of a second; on a quiet machine a few of those do not make a run noisy.
	minNoise = 0.05
	// noiseShare bounds the repetitions for noise, as a share of the planned runs.
	noiseShare = 0.25
)

// quieter applies the noise rule. It looks at the first run that counts of each slot,
// and at the CPU time that others used: outside the experiment, or stolen by the
// hypervisor. Runs far above the median of their family are to be repeated, the noisiest
// first and at most a quarter of the planned runs. A family is the arms that are compared
// with each other: their traffic loads the machine's network stack alike.
//
// The rule sees the disturbance and never the result, so it cannot prefer one. It returns
// the trials to do, and a copy of the runs: if a noisy run has its repetition, the
// noisier of the two is invalid. A failed repetition replaces nothing. The rule depends
// on the runs only.
//
// Repetitions follow the last round, because the median is not known before. Such a pair
// is no longer one block: its ratio includes slow changes of the machine between the
// round and the end of the experiment, so these rounds vary more, without favour for any
// setting. A Try above 0 marks them.
func quieter(d *Design, runs []finding.Run) (marked []finding.Run, again []Trial) {
	marked = slices.Clone(runs)
	first, repetition := map[slot]int{}, map[slot]int{}
	families := map[family][]int{}
	for i, r := range runs {
		at := slot{r.Arm, r.Round}
		if _, ok := first[at]; ok {
			repetition[at] = i
		} else if r.Invalid == "" {
			first[at] = i
			if _, ok := disturbance(r); ok {
				f := family{r.Arm.Workload, r.Arm.Quota, r.Arm.Memory, r.Arm.Load}
				families[f] = append(families[f], i)
			}
		}
	}
	type noisy struct {
		run            int
		others, median float64
	}
	var found []noisy
	for _, in := range families {
		others := make([]float64, len(in))
		for k, i := range in {
			others[k], _ = disturbance(runs[i])
		}
		median := stats.Median(others)
		for k, out := range stats.Outlying(others, noiseMADs) {
			if out && others[k] > median+minNoise {
				found = append(found, noisy{in[k], others[k], median})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b noisy) int {
		return cmp.Or(cmp.Compare(b.others-b.median, a.others-a.median), a.run-b.run)
	})
	found = found[:min(len(found), int(noiseShare*float64(d.Rounds*len(d.Arms))))]
	for _, n := range found {
		r := runs[n.run]
		i, done := repetition[slot{r.Arm, r.Round}]
		if !done {
			again = append(again, d.repeat(r))
			continue
		}
		worse, others := n.run, n.others
		if o, ok := disturbance(runs[i]); runs[i].Invalid != "" {
			continue
		} else if !ok || o >= others {
			worse, others = i, o
		}
		marked[worse].Invalid = fmt.Sprintf("noisy neighbours: %.2f CPUs busy with other things, %.2f in the median run",
			others, n.median)
	}
	return marked, again
}

// disturbance returns how many CPUs others used during a run; false is unknown.
func disturbance(r finding.Run) (float64, bool) {
	if r.Noise.OtherCPUs == nil {
		return 0, false
	}
	cpus := *r.Noise.OtherCPUs
	if r.Noise.Steal != nil {
		cpus += *r.Noise.Steal
	}
	return cpus, true
}

// repeat returns the trial that repeats a run.
func (d *Design) repeat(r finding.Run) Trial {
	t := Trial{Arm: r.Arm, Round: r.Round, Try: r.Try + 1, Seed: r.Seed}
	for _, a := range d.Arms {
		if a.Arm == r.Arm {
			t.Rate = a.Rate
		}
	}
	return t
}
