// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// bad makes the runs with these keys invalid.
func bad(s service, why string, keys ...string) func(Trial) finding.Run {
	return func(t Trial) finding.Run {
		r := s.run(t)
		for _, k := range keys {
			if key(t) == k {
				r.Invalid = why
			}
		}
		return r
	}
}

// TestInvalidRunsAreRepeated at the end of their own round, with the same arrivals, until
// they count or reach the maximum number of tries.
func TestInvalidRunsAreRepeated(t *testing.T) {
	const late = "generator late by 3 ms"
	d := plain(3)
	f := &fake{run: bad(service{seed: 1, sd: 0.01}, late,
		"1 r0 t0", "8 r1 t0", "8 r1 t1", " r2 t0", " r2 t1", " r2 t2", " r2 t3")}
	var last Progress
	runs, err := Execute(t.Context(), d, f, func(p Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 9+1+2+2 {
		t.Fatalf("%d runs, want 14", len(runs))
	}
	invalid, order := 0, map[int]int{}
	seeds := map[int]uint64{}
	round := 0
	for i, r := range runs {
		if r.Round < round {
			t.Errorf("run %d: round %d after round %d", i, r.Round, round)
		}
		round = r.Round
		if r.Order != order[r.Round] {
			t.Errorf("run %d: order %d, want %d", i, r.Order, order[r.Round])
		}
		order[r.Round]++
		if r.Try > 0 && r.Order < 3 {
			t.Errorf("run %d: try %d before the round was through", i, r.Try)
		}
		if s, ok := seeds[r.Round]; ok && s != r.Seed {
			t.Errorf("run %d: other arrivals than in its round", i)
		}
		seeds[r.Round] = r.Seed
		if r.Invalid != "" {
			invalid++
			if r.Invalid != late {
				t.Errorf("run %d: invalid because of %q", i, r.Invalid)
			}
		}
	}
	if invalid != 6 {
		t.Errorf("%d invalid runs kept, want 6", invalid)
	}
	if last.Done != 14 || last.Total != 14 || last.Repeated != 5 || last.Left != 0 {
		t.Errorf("last progress %+v", last)
	}
	if Repeated(runs) != 5 || Excluded(runs) != 1 {
		t.Errorf("repeated %d, excluded %d, want 5 and 1", Repeated(runs), Excluded(runs))
	}
	cells := Cells(d, runs)
	for i, want := range []int{2, 3, 3} {
		if got := len(valid(cells[i].Rounds)); got != want {
			t.Errorf("cell %d: %d valid rounds, want %d", i, got, want)
		}
	}
}

func TestMaxTries(t *testing.T) {
	d := plain(1)
	d.MaxTries = 1
	f := &fake{run: bad(service{}, "late", " r0 t0")}
	if runs, err := Execute(t.Context(), d, f, nil); err != nil || len(runs) != 3 {
		t.Errorf("%d runs, %v, want 3 and none repeated", len(runs), err)
	}
}

// TestContextEnds before each run and during each run.
func TestContextEnds(t *testing.T) {
	script := bad(service{seed: 1}, "late", "1 r0 t0", "8 r1 t0")
	for call := range 8 {
		for _, during := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			f := &fake{run: script}
			f.before = func(n int) error {
				if n == call {
					cancel()
					if during {
						return errors.New("killed")
					}
				}
				return nil
			}
			runs, err := Execute(ctx, plain(2), f, nil)
			if complete := call == 7 && !during; complete && err != nil {
				t.Errorf("everything is done, and the error is %v", err)
			} else if !complete && !errors.Is(err, context.Canceled) {
				t.Errorf("call %d: %v, want the context's error", call, err)
			}
			want := call + 1 // a run that had ended before the context is kept
			if during {
				want = call
			}
			if len(runs) != want {
				t.Errorf("call %d, during %v: %d runs, want %d", call, during, len(runs), want)
			}
			cancel()
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &fake{run: script}
	if runs, err := Execute(ctx, plain(2), f, nil); !errors.Is(err, context.Canceled) || len(runs)+len(f.calls) != 0 {
		t.Errorf("ended before the start: %d runs, %v", len(runs), err)
	}
}

func TestRunnerFails(t *testing.T) {
	broken := errors.New("no cgroup can be made here")
	f := &fake{run: service{}.run, before: func(n int) error {
		if n == 4 {
			return broken
		}
		return nil
	}}
	runs, err := Execute(t.Context(), plain(3), f, nil)
	if !errors.Is(err, broken) || len(runs) != 4 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{run: func(tr Trial) finding.Run {
			time.Sleep(5 * time.Second)
			return bad(service{}, "late", " r1 t0")(tr)
		}}
		var all []Progress
		if _, err := Execute(t.Context(), plain(2), f, func(p Progress) { all = append(all, p) }); err != nil {
			t.Fatal(err)
		}
		if len(all) != 8 {
			t.Fatalf("%d calls, want 8: one before each of 7 runs, one at the end", len(all))
		}
		for i, p := range all {
			total := 6
			for j, c := range f.calls[:i] {
				if key(c) == " r1 t0" && i > j {
					total = 7
				}
			}
			left := time.Duration(total-i) * 5 * time.Second
			if i == 0 {
				left = 0
			}
			if p.Done != i || p.Total != total || p.Elapsed != time.Duration(i)*5*time.Second || p.Left != left || p.Repeated != total-6 {
				t.Errorf("call %d: %+v, want total %d, left %v", i, p, total, left)
			}
		}
	})
}

// noisy disturbs the runs with these keys.
func noisy(s service, others map[string]float64) func(Trial) finding.Run {
	return func(t Trial) finding.Run {
		r := s.run(t)
		if o, ok := others[key(t)]; ok {
			r.Noise.OtherCPUs = &o
		}
		return r
	}
}

func TestNoiseRule(t *testing.T) {
	for _, c := range []struct {
		name    string
		rounds  int
		others  map[string]float64
		runs    int
		invalid []string // keys
	}{
		{"quiet", 4, nil, 12, nil},
		{"a little more on a quiet machine is nothing", 4, map[string]float64{"1 r2 t0": 0.14}, 12, nil},
		{"one disturbed run", 4, map[string]float64{"1 r2 t0": 1.4}, 13, []string{"1 r2 t0"}},
		{"its repetition is disturbed more", 4, map[string]float64{"1 r2 t0": 1.4, "1 r2 t1": 1.9}, 13, []string{"1 r2 t1"}},
		{"no more than a quarter are repeated, the noisiest", 4, map[string]float64{
			"1 r0 t0": 1.1, "8 r0 t0": 1.2, "1 r2 t0": 1.4, " r3 t0": 1.5,
		}, 15, []string{"8 r0 t0", "1 r2 t0", " r3 t0"}},
		{"too few runs to say", 1, map[string]float64{" r0 t0": 1.9, "1 r0 t0": 0.1}, 3, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := plain(c.rounds)
			runs, err := Execute(t.Context(), d, &fake{run: noisy(service{sd: 0.01}, c.others)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(runs) != c.runs {
				t.Errorf("%d runs, want %d", len(runs), c.runs)
			}
			want := map[string]bool{}
			for _, k := range c.invalid {
				want[k] = true
			}
			for _, r := range runs {
				k := key(Trial{Arm: r.Arm, Round: r.Round, Try: r.Try})
				if (r.Invalid != "") != want[k] {
					t.Errorf("%q: invalid %q", k, r.Invalid)
				}
				if r.Invalid != "" && !strings.HasPrefix(r.Invalid, "noisy neighbours: 1.") {
					t.Errorf("%q: %q", k, r.Invalid)
				}
			}
			if Excluded(runs) != 0 {
				t.Errorf("%d rounds lost", Excluded(runs))
			}
		})
	}
}

// TestOutliersStay: an outlying result is not repeated if nothing disturbed the run.
func TestOutliersStay(t *testing.T) {
	s := service{sd: 0.01}
	f := &fake{run: func(tr Trial) finding.Run {
		r := s.run(tr)
		if key(tr) == "1 r2 t0" {
			*r.CPUPerOp *= 50
			*r.P99 *= 50
		}
		return r
	}}
	runs, err := Execute(t.Context(), plain(7), f, nil)
	if err != nil || len(runs) != 21 {
		t.Fatalf("%d runs, %v, want 21", len(runs), err)
	}
	for _, r := range runs {
		if r.Invalid != "" {
			t.Errorf("%s: %s", key(Trial{Arm: r.Arm, Round: r.Round}), r.Invalid)
		}
	}
}

// TestNoiseRepetitionFails: a noisy run counts if its repetition does not.
func TestNoiseRepetitionFails(t *testing.T) {
	quiet := noisy(service{sd: 0.01}, map[string]float64{"1 r2 t0": 1.4})
	f := &fake{run: func(tr Trial) finding.Run {
		r := quiet(tr)
		if tr.Try > 0 {
			r.Invalid = "generator late"
		}
		return r
	}}
	runs, err := Execute(t.Context(), plain(4), f, nil)
	if err != nil || len(runs) != 13 || Excluded(runs) != 0 {
		t.Errorf("%d runs, %d excluded, %v", len(runs), Excluded(runs), err)
	}
}
