// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"strings"
	"testing"
)

// testRamp: a ramp is one process in one real cgroup, whose counters are read in each slice, and the
// slices add up to the whole window.
func testRamp(t *testing.T, l *faultLab) {
	o := l.start(t, "", strings.Fields("bench --cpus 1 --gomaxprocs default --users 4..16/10s --rounds 1 --warmup 100ms --json")...).wait(t)
	if o.code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
	}
	d := benchDocument(t, o)
	if len(d.Cells) != 1 || len(d.Cells[0].Rounds) < 1 {
		t.Fatalf("%d settings", len(d.Cells))
	}
	r := d.Cells[0].Rounds[0]
	tl := r.Timeline
	if tl == nil || len(tl.CPU) != 10 || tl.Step != 1 {
		t.Fatalf("timeline %+v", tl)
	}
	ops, cpu, gcs := 0.0, 0.0, uint64(0)
	for i := range tl.Users {
		if tl.CPU[i] == nil || tl.Throttled[i] == nil || tl.GCs[i] == nil || tl.GCCPU[i] == nil || tl.Resident[i] == nil {
			t.Fatalf("slice %d lacks a figure: %+v", i, tl)
		}
		ops, cpu, gcs = ops+tl.RPS[i]*tl.Step, cpu+*tl.CPU[i]*tl.Step, gcs+*tl.GCs[i]
	}
	// Readings are late on a busy machine, so a slice may be longer or shorter than planned, and the
	// sum of the CPU time is that of the window only about.
	if int64(ops+.5) != r.Ops || cpu < *r.CPU/2 || cpu > *r.CPU*2 {
		t.Errorf("the slices have %g requests and %g s of CPU time, the window %d and %g s", ops, cpu, r.Ops, *r.CPU)
	}
	if r.GCs == nil || gcs > *r.GCs+1 || gcs+1 < *r.GCs {
		t.Errorf("the slices have %d collections, the runtime counted %v", gcs, r.GCs)
	}
}
