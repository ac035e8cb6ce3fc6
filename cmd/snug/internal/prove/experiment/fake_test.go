// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// fake is a scripted Runner. The result of a run depends on its trial only.
type fake struct {
	run    func(t Trial) finding.Run
	before func(call int) error // nil continues
	calls  []Trial
}

func (f *fake) Run(ctx context.Context, t Trial) (finding.Run, error) {
	if f.before != nil {
		if err := f.before(len(f.calls)); err != nil {
			return finding.Run{}, err
		}
	}
	f.calls = append(f.calls, t)
	return f.run(t), nil
}

// judged does the runs of a design and judges them by what the data call for.
func judged(t *testing.T, d *Design, run func(Trial) finding.Run) (v finding.BenchVerdict, best int) {
	t.Helper()
	runs, err := Execute(t.Context(), d, &fake{run: run}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cells := Cells(d, runs)
	v = said(Judge(d, cells, Compare(d, cells), Auto, 4), cells)
	best = -1
	if v.Best != nil {
		best = *v.Best
	}
	return v, best
}

// key names a trial in scripts: arm, round and try.
func key(t Trial) string { return fmt.Sprintf("%s r%d t%d", t.Arm.GOMAXPROCS, t.Round, t.Try) }

// random returns a source that depends on the trial and the seed.
func random(seed uint64, t Trial) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v %d %d", t.Arm, t.Round, t.Try)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// service is a simulated service: log-normal noise between runs, partly shared by all
// arms of a round. factor multiplies CPU per request, divides the throughput, and so on,
// by metric; 0 is 1.
type service struct {
	seed   uint64
	sd     float64
	sds    map[string]float64 // standard deviations of metrics that differ from sd
	factor func(a finding.Arm, key string) float64
}

func (s service) run(t Trial) finding.Run {
	r := random(s.seed, t)
	block := rand.New(rand.NewPCG(s.seed, t.Seed))
	shared := math.Exp(2 * s.sd * block.NormFloat64())
	value := func(key string, typical float64) *float64 {
		sd := s.sd
		if own, ok := s.sds[key]; ok {
			sd = own
		}
		v := typical * shared * math.Exp(sd/math.Sqrt2*r.NormFloat64())
		if s.factor != nil {
			if f := s.factor(t.Arm, key); f != 0 {
				v *= f
			}
		}
		return &v
	}
	run := finding.Run{
		Started:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Window:   4,
		Ops:      6000,
		CPUPerOp: value(metric.CPU, 0.0006),
		P50:      value(metric.P50, 0.002),
		P99:      value(metric.P99, 0.03),
		Procs:    new(2),
		Noise:    finding.Noise{OtherCPUs: new(0.1 + 0.01*r.Float64())},
	}
	if t.Arm.GOMAXPROCS != "" {
		run.Procs = new(0)
		fmt.Sscan(t.Arm.GOMAXPROCS, run.Procs)
	}
	if t.Rate > 0 {
		run.Offered = new(t.Rate)
	} else {
		run.RPS = value(metric.RPS, 1500)
	}
	peak := int64(*value(metric.Peak, 30<<20))
	run.Peak = &peak
	return run
}

// arm returns an arm of the http workload at 1 CPU.
func arm(procs, load string, labels ...string) Arm {
	a := Arm{Labels: labels}
	a.Arm = finding.Arm{Workload: "http", Quota: 1, Load: load, Knobs: finding.Knobs{GOMAXPROCS: procs}}
	if OpenLoop(a.Arm) {
		a.Rate = 800
	}
	return a
}

// plain returns a small design: the default, 1 and 8.
func plain(rounds int) *Design {
	return &Design{
		Arms:   []Arm{arm("", "saturated", LabelDefault, LabelSnug), arm("1", "saturated"), arm("8", "saturated")},
		Rounds: rounds, Seed: 42,
	}
}

// full returns the design of snug bench --full: 3 settings under 3 loads.
func full(rounds int, seed uint64) *Design {
	d := &Design{Rounds: rounds, Seed: seed}
	for _, load := range []string{"saturated", "50%", "80%"} {
		d.Arms = append(d.Arms, arm("", load, LabelDefault), arm("1", load), arm("8", load))
	}
	return d
}

// execute runs an experiment on a simulated service.
func execute(t *testing.T, d *Design, s service) []finding.Run {
	t.Helper()
	runs, err := Execute(t.Context(), d, &fake{run: s.run}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// said returns a verdict with the sentences that package content writes.
func said(v finding.BenchVerdict, cells []finding.Cell) finding.BenchVerdict {
	content.Say(&v, cells)
	return v
}

// sentences returns the sentences on limits of the verdict.
func sentences(u []finding.Unshown, cells []finding.Cell) []string {
	return said(finding.BenchVerdict{Code: finding.CodeAlone, Unshown: u}, cells).Cannot
}
