// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Progress says how far an experiment is.
type Progress struct {
	Done     int // runs done, with those of an earlier start
	Total    int // runs planned; repetitions add to it
	Repeated int // runs that were repeated, or will be
	Elapsed  time.Duration
	// Left is the expected time of the remaining runs, from those done since the start; 0
	// before the first one is done.
	Left  time.Duration
	Trial Trial // the next one; in the last call the last one
}

// Execute does the runs of a design, and returns them in the order in which they were done.
//
// A run with Invalid set is kept. It is repeated at the end of its round, with the next
// Try, up to Design.MaxTries. After the last round, the runs that neighbours disturbed
// most are repeated once (see quieter); of the two, the quieter counts. No run is left
// out because of its result.
//
// What it does next depends on the runs so far only, so that a Runner with a [Record] resumes it.
// progress, if not nil, is called before each run and once at the end, never concurrently.
//
// If the context ends or the Runner fails, Execute returns the runs so far and that error.
func Execute(ctx context.Context, d *Design, r Runner, progress func(Progress)) ([]finding.Run, error) {
	e := &execution{design: d, runner: r, progress: progress, started: time.Now(), planned: d.Rounds * len(d.Arms)}
	if rec, ok := r.(*resumed); ok {
		e.kept = rec.record.Kept()
	}
	err := e.all(ctx)
	marked, _ := quieter(d, e.runs)
	return marked, err
}

type execution struct {
	design   *Design
	runner   Runner
	progress func(Progress)
	runs     []finding.Run
	planned  int // runs without repetitions of runs
	started  time.Time
	kept     int // runs of an earlier start
	last     Trial
}

func (e *execution) all(ctx context.Context) error {
	for round := range e.design.Rounds {
		for {
			pending := e.pending(round)
			if len(pending) == 0 {
				break
			}
			if err := e.run(ctx, pending[0], len(pending)-1+(e.design.Rounds-1-round)*len(e.design.Arms)); err != nil {
				return err
			}
		}
	}
	_, again := quieter(e.design, e.runs)
	for i, t := range again {
		if err := e.run(ctx, t, len(again)-1-i); err != nil {
			return err
		}
	}
	e.report(e.last, 0)
	return nil
}

// pending returns the runs that a round still needs, in order: first those never tried,
// in the shuffled order, then those that do not count yet, the least tried first.
func (e *execution) pending(round int) []Trial {
	var left []Trial
	for _, t := range e.design.round(round) {
		tries, valid := 0, false
		for _, r := range e.runs {
			if r.Round == round && r.Arm == t.Arm {
				tries++
				valid = valid || r.Invalid == ""
			}
		}
		if !valid && tries < e.design.tries() {
			t.Try = tries
			left = append(left, t)
		}
	}
	slices.SortStableFunc(left, func(a, b Trial) int { return cmp.Compare(a.Try, b.Try) })
	return left
}

// run does one run; left is the number of runs after it.
func (e *execution) run(ctx context.Context, t Trial, left int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.Order = 0
	for _, r := range e.runs {
		if r.Round == t.Round {
			t.Order++
		}
	}
	e.last = t
	e.report(t, left+1)
	began := time.Now()
	run, err := e.runner.Run(ctx, t)
	unwritten, ok := errors.AsType[*RecordError](err)
	if ok = ok && unwritten.Err != nil; err != nil && !ok { // a run that was not written is one
		return cmp.Or(ctx.Err(), err)
	}
	run.Arm, run.Round, run.Order, run.Try, run.Seed = t.Arm, t.Round, t.Order, t.Try, t.Seed
	if run.Started.IsZero() {
		run.Started = began
	}
	e.runs = append(e.runs, run)
	return err
}

// report calls progress before the run of t; left counts the remaining runs and t.
func (e *execution) report(t Trial, left int) {
	if e.progress == nil || len(e.runs) < e.kept {
		return
	}
	p := Progress{
		Done: len(e.runs), Total: len(e.runs) + left, Elapsed: time.Since(e.started), Trial: t,
		Repeated: max(0, len(e.runs)+left-e.planned),
	}
	if done := len(e.runs) - e.kept; done > 0 {
		p.Left = p.Elapsed / time.Duration(done) * time.Duration(left)
	}
	e.progress(p)
}

// Repeated counts the repeated runs, for finding.Setup.
func Repeated(runs []finding.Run) int {
	n := 0
	for _, r := range runs {
		if r.Try > 0 {
			n++
		}
	}
	return n
}

// Excluded counts, over all arms, the rounds that have runs but none that counts, for
// finding.Setup.
func Excluded(runs []finding.Run) int {
	valid := map[slot]bool{}
	for _, r := range runs {
		at := slot{r.Arm, r.Round}
		valid[at] = valid[at] || r.Invalid == ""
	}
	n := 0
	for _, v := range valid {
		if !v {
			n++
		}
	}
	return n
}

// slot identifies the arm and the round of a run.
type slot struct {
	arm   finding.Arm
	round int
}
