// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// steady is a Runner whose figures depend on the trial alone, so that a run after a
// resumption is what it would have been. Runs take from 2 to 4 seconds; some do not count,
// some fail.
type steady struct{ runs int }

func (w *steady) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	w.runs++
	r := rand.New(rand.NewPCG(t.Seed, uint64(len(t.Arm.GOGC)*8+len(t.Arm.GOMAXPROCS)*4+t.Try)))
	if t.Arm.GOGC == "50" {
		return finding.Run{}, targetError("it ended")
	}
	cpu := math.Exp(gogcHelps(t.Arm) + 0.03*r.NormFloat64())
	rps := 1 / cpu
	run := finding.Run{Window: 4, Ops: 4000, CPUPerOp: &cpu, RPS: &rps, Took: 2 + 2*r.Float64()}
	if r.IntN(20) == 0 {
		run.Invalid = "noisy neighbours"
	}
	return run, nil
}

// TestASearchIsResumed after any run, and its answer is that of a search that was not
// interrupted.
func TestASearchIsResumed(t *testing.T) {
	in := input(t, "cpu", "rps>=0.1")
	in.Budget, in.PerRun, in.Seed = 4*time.Minute, 3*time.Second, 7
	answer := func(out *finding.Tune) string {
		d := *out
		d.Seconds, d.Started = 0, time.Time{}
		text, err := json.Marshal(forget(&d))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	open := func(path string) *experiment.Record {
		rec, err := experiment.OpenRecord(path, in.Design(), in.Identity(), finding.Setup{Seed: in.Seed})
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	whole := &steady{}
	out, err := Run(t.Context(), in, whole)
	if err != nil {
		t.Fatal(err)
	}
	if out.Confirm == nil || out.Repeated == 0 {
		t.Fatalf("a search without a confirmation or repeated runs tests little: %+v", out.Stages)
	}
	want := answer(out)
	dir := t.TempDir()
	lost := errors.New("power loss")
	for at := 1; at < whole.runs; at += 13 {
		path := filepath.Join(dir, "record")
		os.Remove(path)
		one := in
		one.Record = open(path)
		if _, err := Run(t.Context(), one, &stopper{&steady{}, at, func() error { return lost }}); !errors.Is(err, lost) {
			t.Fatalf("stopped at run %d: %v", at, err)
		}
		one.Record.Close()
		one.Record = open(path)
		rest := &steady{}
		out, err := Run(t.Context(), one, rest)
		one.Record.Close()
		if err != nil {
			t.Fatalf("resumed at run %d: %v", at, err)
		}
		if rest.runs != whole.runs-at || answer(out) != want {
			t.Errorf("stopped at run %d of %d: %d more runs; %s", at, whole.runs, rest.runs, difference(answer(out), want))
		}
	}
	// The record is complete: nothing runs again.
	one := in
	one.Record = open(filepath.Join(dir, "record"))
	again := &steady{}
	if out, err := Run(t.Context(), one, again); err != nil || again.runs != 0 || answer(out) != want {
		t.Errorf("%v, %d runs of a complete record", err, again.runs)
	}
	one.Record.Close()

	for name, change := range map[string]func(*Input){
		"objective":   func(in *Input) { in.Objective, _ = ParseObjective("rps") },
		"constraints": func(in *Input) { in.Constraints = nil },
		"budget":      func(in *Input) { in.Budget *= 2 },
		"values":      func(in *Input) { in.Values.GOGC = []string{"", "400"} },
		"snug's plan": func(in *Input) { in.Snug = &finding.Knobs{GOGC: "200"} },
		"arm 1":       func(in *Input) { in.Base.Quota = 2 },
		"seed":        func(in *Input) { in.Seed = 8 },
	} {
		other := in
		change(&other)
		_, err := experiment.OpenRecord(filepath.Join(dir, "record"), other.Design(), other.Identity(), finding.Setup{Seed: other.Seed})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if _, err := experiment.OpenRecord(filepath.Join(dir, "record"), in.Design(), nil, finding.Setup{Seed: in.Seed}); err == nil || !strings.Contains(err.Error(), "snug tune there") {
		t.Errorf("bench resumes from the record of a search: %v", err)
	}
}

// difference returns where two texts begin to differ.
func difference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-80)
	return a[from:min(len(a), at+80)] + "\nwant\n" + b[from:min(len(b), at+80)]
}

// forget removes when the runs began, and how long those took that failed at once.
func forget(d *finding.Tune) *finding.Tune {
	cells := append([]finding.Cell{d.Baseline}, d.Cells...)
	if c := d.Confirm; c != nil {
		cells = append(append(cells, c.Winner, c.Default), c.Without...)
	}
	for i := range d.Stages {
		d.Stages[i].Seconds = math.Round(d.Stages[i].Seconds*100) / 100
	}
	for _, c := range cells {
		for i := range c.Rounds {
			c.Rounds[i].Started = time.Time{}
			if c.Rounds[i].Error != "" {
				c.Rounds[i].Took = 0 // it failed at once
			}
		}
	}
	return d
}
