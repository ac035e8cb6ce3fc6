// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// rates turns loads that are a share of capacity into requests per second. A resumed
// experiment keeps its loads: capacities that an earlier start recorded come from old,
// which may be nil.
func (l *Lab) rates(
	ctx context.Context, d *experiment.Design, old *finding.Setup,
) (known []finding.Capacity, err error) {
	known = []finding.Capacity{}
	if old != nil {
		known = append(known, old.Capacities...)
	}
	for i := range d.Arms {
		a := &d.Arms[i]
		share, ok := percentOf(a.Load)
		if !ok {
			continue
		}
		key := finding.Capacity{Workload: a.Workload, Quota: a.Quota, Memory: a.Memory}
		at := slices.IndexFunc(known, func(c finding.Capacity) bool { c.RPS = 0; return c == key })
		if at < 0 {
			if key.RPS, err = l.capacity(ctx, key); err != nil {
				return nil, err
			}
			known, at = append(known, key), len(known)
		}
		a.Rate = share * known[at].RPS
	}
	return known, nil
}

// recorded returns the setup of an earlier start with the same --record; nil if there was none.
func (l *Lab) recorded(ctx context.Context) (*finding.Setup, error) {
	if l.RecordFile == "" {
		return nil, nil
	}
	old, err := experiment.Recorded(l.RecordFile)
	return old, l.explain(ctx, err)
}

// record opens the record of --record; nil if there is none.
func (l *Lab) record(
	ctx context.Context, d *experiment.Design, search map[string]string, setup, old *finding.Setup,
) (*experiment.Record, error) {
	if l.RecordFile == "" {
		return nil, nil
	}
	rec, err := experiment.OpenRecord(l.RecordFile, d, search, *setup)
	if old != nil && rec.Kept() > 0 {
		setup.Started, setup.Resumed = old.Started, rec.Kept()
	}
	return rec, l.explain(ctx, err)
}

// unmeasured counts the capacities that rates would measure.
func (b *Bench) unmeasured(d *experiment.Design, old *finding.Setup) int {
	var known []finding.Capacity
	if old != nil {
		known = append(known, old.Capacities...)
	}
	n := 0
	for _, a := range d.Arms {
		key := finding.Capacity{Workload: a.Workload, Quota: a.Quota, Memory: a.Memory}
		if _, share := percentOf(a.Load); share &&
			!slices.ContainsFunc(known, func(c finding.Capacity) bool { c.RPS = 0; return c == key }) {
			known = append(known, key)
			n++
		}
	}
	return n
}

// capacityRuns is the number of runs that measure a capacity.
const capacityRuns = 3

const capacityText = "measuring what the default setting can serve"

// capacity returns what the default setting serves when saturated: the median of three
// runs.
func (l *Lab) capacity(ctx context.Context, c finding.Capacity) (float64, error) {
	l.Talk.Status(capacityText)
	defer l.Talk.Status("")
	arm := finding.Arm{Workload: c.Workload, Quota: c.Quota, Memory: c.Memory, Load: runner.LoadSaturated}
	var seen []float64
	for i := range capacityRuns {
		run, err := l.runner.Run(ctx, experiment.Trial{Arm: arm, Round: i, Seed: l.seed + uint64(i)})
		if err != nil {
			return 0, err
		}
		if run.RPS == nil || *run.RPS == 0 {
			cure := "give rates instead: --load 800/s"
			if run.OOMKills != nil && *run.OOMKills > 0 {
				cure = "give it more memory, or rates: --load 800/s"
			}
			return 0, message.Failed("--load: the capacity could not be measured: "+run.Error, cure)
		}
		seen = append(seen, *run.RPS)
	}
	slices.Sort(seen)
	return seen[capacityRuns/2], nil
}
