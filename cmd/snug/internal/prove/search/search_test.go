// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// gogcHelps is a program that GOGC=400 makes 15 % cheaper.
func gogcHelps(a finding.Arm) float64 {
	return map[string]float64{"50": 0.1, "": 0, "200": -0.08, "400": -0.16, "800": -0.12, "off": 0.05}[a.GOGC] +
		map[string]float64{"": 0, "1": 0.05, "4": 0.05, "8": 0.1}[a.GOMAXPROCS]
}

func search1(t *testing.T, in Input, w experiment.Runner) *finding.Tune {
	t.Helper()
	out, err := Run(t.Context(), in, w)
	if err != nil {
		t.Fatal(err)
	}
	content.SayTune(out)
	if !out.Complete || out.Verdict.Text == "" || out.Verdict.Keep == (out.Verdict.Best != nil) {
		t.Errorf("complete %v, verdict %+v", out.Complete, out.Verdict)
	}
	if (out.Environment == nil) != out.Verdict.Keep {
		t.Errorf("environment %v, keep %v", out.Environment, out.Verdict.Keep)
	}
	return out
}

func TestWinner(t *testing.T) {
	in := input(t, "cpu")
	in.Snug = &finding.Knobs{GOGC: "400"}
	w := newWorld(0.03, 1, gogcHelps)
	out := search1(t, in, w)
	if out.Verdict.Best == nil {
		t.Fatalf("verdict %q", out.Verdict.Text)
	}
	best := out.Cells[*out.Verdict.Best]
	if best.GOGC != "400" || best.GOMAXPROCS != "" {
		t.Errorf("best is %+v", best.Knobs)
	}
	if !strings.Contains(out.Verdict.Text, "CPU per operation -1") || !strings.Contains(out.Verdict.Text, "95 % interval") {
		t.Errorf("verdict %q", out.Verdict.Text)
	}
	if best.GOMEMLIMIT == "" && (!slices.Contains(best.Labels, "snug") || !strings.Contains(out.Verdict.Text, "snug run sets")) {
		t.Errorf("verdict %q, labels %v: it is what snug would set", out.Verdict.Text, best.Labels)
	}
	c := out.Confirm
	if len(c.Winner.Rounds) < minPairs || len(c.Default.Rounds) < minPairs || !slices.Equal(c.Default.Labels, []string{"default"}) {
		t.Fatalf("confirmed by %d and %d runs, labels %v", len(c.Winner.Rounds), len(c.Default.Rounds), c.Default.Labels)
	}
	seen := map[uint64]bool{}
	for _, cell := range out.Cells {
		for _, r := range cell.Rounds {
			seen[r.Seed] = true
		}
	}
	for i, r := range c.Winner.Rounds {
		if seen[r.Seed] || r.Seed != c.Default.Rounds[i].Seed {
			t.Errorf("round %d is not fresh, or not of one block: seeds %d, %d", i, r.Seed, c.Default.Rounds[i].Seed)
		}
	}
	var names []string
	runs := 0
	for _, s := range out.Stages {
		names = append(names, s.Name)
		runs += s.Runs
		for _, k := range s.Kept {
			if k < 0 || k >= len(out.Cells) {
				t.Errorf("stage %s keeps cell %d of %d", s.Name, k, len(out.Cells))
			}
		}
	}
	if got := strings.Join(names, ", "); got != "baseline, screen, halve 10, halve 3, confirm" {
		t.Errorf("stages %s", got)
	}
	if runs != w.runs || runs > int(in.Budget/in.PerRun) {
		t.Errorf("the stages tell %d runs, there were %d, the budget was %v", runs, w.runs, in.Budget)
	}
	if len(out.Baseline.Rounds) != baselineRuns || len(out.Cells[0].Rounds) < baselineRuns {
		t.Errorf("baseline has %d runs, its cell %d", len(out.Baseline.Rounds), len(out.Cells[0].Rounds))
	}
}

func TestDefaultIsBest(t *testing.T) {
	out := search1(t, input(t, "cpu"), newWorld(0.01, 1, func(a finding.Arm) float64 {
		if a.Knobs == (finding.Knobs{}) {
			return 0
		}
		return 0.2 + gogcHelps(a)
	}))
	if !out.Verdict.Keep || out.Confirm != nil || !strings.HasPrefix(out.Verdict.Text, "keep the default: ") {
		t.Errorf("verdict %+v, confirmation %v", out.Verdict, out.Confirm)
	}
}

func TestGainBelowTheMarginIsNone(t *testing.T) {
	out := search1(t, input(t, "cpu"), newWorld(0.001, 1, func(a finding.Arm) float64 { return gogcHelps(a) / 16 }))
	if !out.Verdict.Keep || out.Confirm == nil || !strings.Contains(out.Verdict.Text, "no gain beyond 2 %") {
		t.Errorf("verdict %+v", out.Verdict)
	}
}

func TestMoreOperationsAreBetter(t *testing.T) {
	out := search1(t, input(t, "rps"), newWorld(0.02, 1, gogcHelps))
	if out.Verdict.Best == nil || out.Cells[*out.Verdict.Best].GOGC != "400" || !strings.Contains(out.Verdict.Text, "throughput +1") {
		t.Errorf("verdict %+v", out.Verdict)
	}
}

// TestObjectiveFollowsTheData: more Ps cost CPU time and serve more where the default leaves half
// of its quota unused.
func TestObjectiveFollowsTheData(t *testing.T) {
	blocked := func(a finding.Arm) float64 {
		return map[string]float64{"": 0, "1": -0.02, "4": 0.05, "8": 0.1}[a.GOMAXPROCS]
	}
	for used, want := range map[float64]string{0.5: "rps 8", 0.98: "cpu"} {
		in := input(t, "cpu")
		in.Auto, in.Base.Load, in.Base.Quota = true, "saturated", 1
		w := newWorld(0.005, 1, blocked)
		w.alter = func(r *finding.Run) {
			cpu := used * r.Window
			rps := map[string]float64{"": 100, "1": 55, "4": 150, "8": 190}[r.Arm.GOMAXPROCS]
			r.CPU, r.RPS = &cpu, &rps
		}
		out := search1(t, in, w)
		got := out.Objective
		if out.Verdict.Best != nil && got == "rps" {
			got += " " + out.Cells[*out.Verdict.Best].GOMAXPROCS
		}
		if got != want {
			t.Errorf("%v of a CPU used: %q, want %q: %s", used, got, want, out.Verdict.Text)
		}
	}
}

// TestNoSettingWinsByServingLess: one P makes requests cheaper and leaves a part of the quota idle.
// Without an objective GOGC alone wins; with one the price is told.
func TestNoSettingWinsByServingLess(t *testing.T) {
	onePays := func(a finding.Arm) float64 {
		cpu := gogcHelps(a)
		if a.GOMAXPROCS == "1" {
			cpu -= 0.15
		}
		return cpu
	}
	for auto, want := range map[bool]finding.Knobs{true: {GOGC: "400"}, false: {GOMAXPROCS: "1", GOGC: "400"}} {
		in := input(t, "cpu")
		in.Auto, in.Base.Load, in.Base.Quota = auto, "saturated", 1
		w := newWorld(0.005, 1, onePays)
		w.alter = func(r *finding.Run) {
			cpu, rps := 0.99*r.Window, 0.99 / *r.CPUPerOp
			if r.Arm.GOMAXPROCS == "1" {
				cpu, rps = 0.7*r.Window, 0.7 / *r.CPUPerOp
			}
			r.CPU, r.RPS = &cpu, &rps
		}
		out := search1(t, in, w)
		if out.Verdict.Best == nil || out.Cells[*out.Verdict.Best].Knobs != want {
			t.Errorf("auto %t: %s, want %+v", auto, out.Verdict.Text, want)
		}
	}
}

func TestConstraints(t *testing.T) {
	killed := func(r *finding.Run) { // GOGC of 400 and more is always killed, off only sometimes
		if r.Arm.GOGC == "400" || r.Arm.GOGC == "800" {
			kills := uint64(1)
			r.OOMKills, r.CPUPerOp, r.RPS, r.Ops, r.Errors = &kills, nil, nil, 0, 1
		}
	}
	for name, c := range map[string]struct {
		constraints []string
		memory      int64
		alter       func(*finding.Run)
		want        string // GOGC of the best; "keep"
		text        string
	}{
		"the best is killed":        {nil, 0, killed, "200", "CPU per operation -"},
		"the best breaks the bound": {[]string{"p99<20ms"}, 0, tails("400", 0.030, 0.015), "800", ""},
		"the best has errors": {nil, 0, func(r *finding.Run) {
			if r.Arm.GOGC == "400" {
				r.Errors = 5
			}
		}, "800", ""},
		"bounded share of throttled periods": {[]string{"throttled<5%"}, 0, func(r *finding.Run) {
			all, some := uint64(40), uint64(1)
			if r.Arm.GOGC == "400" {
				some = 20
			}
			r.Periods, r.ThrottledPeriods = &all, &some
		}, "800", ""},
		"the best needs the memory limit": {nil, 1 << 30, func(r *finding.Run) {
			peak := int64(100 << 20)
			if r.Arm.GOGC == "400" {
				peak = 1000 << 20
			}
			r.Peak, r.MaxRSS = &peak, &peak
		}, "800", ""},
		"page cache fills the limit": {nil, 1 << 30, func(r *finding.Run) {
			peak, rss := int64(1<<30), int64(100<<20)
			r.Peak, r.MaxRSS = &peak, &rss
		}, "400", ""},
		"nothing holds the bound": {[]string{"p99<10ms"}, 0, tails("400", 0.030, 0.015), "keep", "nothing that was tried holds p99<10ms"},
		"only the default breaks it": {[]string{"p99<20ms"}, 0, func(r *finding.Run) {
			p99 := 0.015
			if r.Arm.Knobs == (finding.Knobs{}) {
				p99 = 0.030
			}
			r.P99 = &p99
		}, "400", "and it holds where the default does not: p99<20ms"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, "cpu", c.constraints...)
			in.Base.Memory = c.memory
			w := newWorld(0.02, 3, gogcHelps)
			w.alter = c.alter
			out := search1(t, in, w)
			got := "keep"
			if out.Verdict.Best != nil {
				got = out.Cells[*out.Verdict.Best].GOGC
			}
			if got != c.want || !strings.Contains(out.Verdict.Text, c.text) {
				t.Errorf("best %q, want %q; verdict %q", got, c.want, out.Verdict.Text)
			}
		})
	}
}

// tails sets a P99 for one value of GOGC and another for the rest.
func tails(gogc string, own, others float64) func(*finding.Run) {
	return func(r *finding.Run) {
		p99 := others
		if r.Arm.GOGC == gogc {
			p99 = own
		}
		r.P99 = &p99
	}
}

// TestWinnerBecauseTheDefaultBreaksABound: the default breaks the bound, and the best
// setting is not better in the objective.
func TestWinnerBecauseTheDefaultBreaksABound(t *testing.T) {
	w := newWorld(0.02, 3, func(a finding.Arm) float64 {
		if a.Knobs == (finding.Knobs{}) {
			return 0
		}
		return 0.05 + gogcHelps(a)/100
	})
	w.alter = func(r *finding.Run) {
		p99 := 0.015
		if r.Arm.Knobs == (finding.Knobs{}) {
			p99 = 0.030
		}
		r.P99 = &p99
	}
	out := search1(t, input(t, "cpu", "p99<20ms"), w)
	if out.Verdict.Keep || !strings.Contains(out.Verdict.Text, "p99<20ms") {
		t.Errorf("verdict %+v", out.Verdict)
	}
	if i := slices.IndexFunc(out.Warnings, func(w finding.Warning) bool { return w.Code == "tune-trade" }); i < 0 {
		t.Errorf("CPU per operation is worse by 5 %%, and nothing says so: %v", out.Warnings)
	}
}

func TestOfferedLoadMustBeServed(t *testing.T) {
	in := input(t, "cpu")
	in.Base.Load, in.Base.Rate = "800/s", 800
	w := newWorld(0.02, 1, gogcHelps)
	w.alter = func(r *finding.Run) {
		offered, rps := 800.0, 799.5
		if r.Arm.GOGC == "400" {
			rps = 780
		}
		r.Offered, r.RPS = &offered, &rps
	}
	out := search1(t, in, w)
	if out.Verdict.Best == nil || out.Cells[*out.Verdict.Best].GOGC != "800" {
		t.Errorf("verdict %+v", out.Verdict)
	}
}

// stopper ends the context, or fails, at a run.
type stopper struct {
	experiment.Runner
	left int
	stop func() error
}

func (s *stopper) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if s.left--; s.left < 0 {
		if err := s.stop(); err != nil {
			return finding.Run{}, err
		}
		return finding.Run{}, ctx.Err()
	}
	return s.Runner.Run(ctx, t)
}

func TestStopAtEveryStage(t *testing.T) {
	lost := errors.New("the cgroup is gone")
	for at, stage := range map[int]string{
		0: "baseline", 2: "baseline", 3: "screen", 20: "screen", 40: "screen", 44: "halve 10", 55: "halve 3", 60: "confirm", 70: "confirm",
	} {
		for _, want := range []error{context.Canceled, lost} {
			ctx, cancel := context.WithCancel(t.Context())
			stop := func() error { return lost }
			if want == context.Canceled {
				stop = func() error { cancel(); return nil }
			}
			out, err := Run(ctx, input(t, "cpu"), &stopper{newWorld(0.03, 1, gogcHelps), at, stop})
			content.SayTune(out)
			cancel()
			if !errors.Is(err, want) || out == nil {
				t.Fatalf("stop at run %d: %v, %v", at, out, err)
			}
			v := out.Verdict
			if out.Complete || v.Keep || v.Best != nil || out.Environment != nil || !strings.Contains(v.Text, "not finished") {
				t.Errorf("stop at run %d: complete %v, verdict %+v", at, out.Complete, v)
			}
			last := out.Stages[len(out.Stages)-1]
			runs := len(out.Cells[0].Rounds)
			for _, c := range out.Cells[1:] {
				runs += len(c.Rounds)
			}
			if out.Confirm != nil {
				runs += len(out.Confirm.Winner.Rounds) + len(out.Confirm.Default.Rounds)
			}
			if last.Name != stage || runs != at {
				t.Errorf("stop at run %d: %d runs are told, the last stage is %s, want %s", at, runs, last.Name, stage)
			}
			if _, err := finding.Encode(out); err != nil {
				t.Errorf("stop at run %d: %v", at, err)
			}
		}
	}
}

func TestCurrentSettingIsTheBaseline(t *testing.T) {
	in := input(t, "cpu")
	in.Base.Knobs, in.Base.Labels = finding.Knobs{GOMAXPROCS: "8", GOGC: "400"}, []string{experiment.LabelCurrent}
	stop := &stopper{newWorld(0.02, 1, gogcHelps), baselineRuns, func() error { return context.Canceled }}
	if out, err := Run(t.Context(), in, stop); err == nil || out == nil {
		t.Errorf("stopped after the baseline: %v, %v", out, err)
	}
	out := search1(t, in, newWorld(0.02, 1, gogcHelps))
	if out.Verdict.Best == nil || out.Cells[*out.Verdict.Best].GOMAXPROCS != "" || !strings.HasPrefix(out.Environment.Shell, "unset GOMAXPROCS") {
		t.Errorf("verdict %+v, environment %+v", out.Verdict, out.Environment)
	}
	if out.Confirm.Default.GOGC != "400" || !slices.Equal(out.Confirm.Default.Labels, []string{"current"}) {
		t.Errorf("the winner is compared with %+v", out.Confirm.Default.Knobs)
	}
}

// slow takes 6 s a run, and 12 s after the search has started.
type slow struct {
	*world
	after int
}

func (s slow) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	d := 6 * time.Second
	if s.runs >= s.after {
		d *= 2
	}
	time.Sleep(d)
	run, err := s.world.Run(ctx, t)
	run.Took = 0 // as the clock says
	return run, err
}

func TestBudgetInTime(t *testing.T) {
	for name, after := range map[string]int{"steady": 1000, "slower from the screen on": 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := input(t, "cpu")
				in.Budget, in.PerRun = 12*time.Minute, 5*time.Second
				began := time.Now()
				out, err := Run(t.Context(), in, slow{newWorld(0.03, 1, gogcHelps), after})
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				if took > in.Budget*11/10 || after == 1000 && took < in.Budget*8/10 {
					t.Errorf("took %v of %v: %+v", took, in.Budget, out.Stages)
				}
			})
		})
	}
}

// TestBudgetIsADeadline: whatever a run takes and the search expected, it ends within the
// budget and a tenth of it, and it says so if that was too short.
func TestBudgetIsADeadline(t *testing.T) {
	for _, budget := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute} {
		for _, run := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 25 * time.Second} {
			if budget/run > 300 {
				continue // nothing new, and slow
			}
			t.Run(budget.String()+" of "+run.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in := input(t, "cpu")
					in.Budget, in.PerRun = budget, 2*time.Second
					w := newWorld(0.03, 1, gogcHelps)
					w.alter = func(r *finding.Run) { r.Took = 0; time.Sleep(run) }
					began := time.Now()
					out, err := Run(t.Context(), in, w)
					if err != nil {
						t.Fatal(err)
					}
					content.SayTune(out)
					took := time.Since(began)
					if took > budget*11/10 {
						t.Errorf("took %v: %+v", took, out.Stages)
					}
					enough := budget >= smallest*run+run
					if decided := out.Verdict.Code == ""; enough && !decided || out.Verdict.Text == "" {
						t.Errorf("decided %v, after %v: %q, %+v", decided, took, out.Verdict.Text, out.Stages)
					}
					if out.Verdict.Code == finding.CodeBudget && !strings.Contains(out.Verdict.Text, "--budget ") {
						t.Errorf("%q", out.Verdict.Text)
					}
				})
			})
		}
	}
}

func TestInputErrors(t *testing.T) {
	for want, change := range map[string]func(*Input){
		"no rate is known":  func(in *Input) { in.Base.Load = "50%" },
		"no budget":         func(in *Input) { in.Budget = 0 },
		"duration of a run": func(in *Input) { in.PerRun = 0 },
		"no objective":      func(in *Input) { in.Objective = Objective{} },
		"number of CPUs":    func(in *Input) { in.CPUs = 0 },
		"too small":         func(in *Input) { in.Budget = runs(smallest - 1) },
	} {
		in := input(t, "cpu")
		change(&in)
		if _, err := Preview(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if p, err := Preview(input(t, "cpu")); err != nil || p != 44 {
		t.Errorf("%+v, %v", p, err)
	}
}
