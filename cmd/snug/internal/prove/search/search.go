// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Input describes a search.
type Input struct {
	// Base is the baseline: limits, load and the current knobs, unset for Go's defaults.
	// Its Labels are kept; without any it is labelled default.
	Base experiment.Arm
	CPUs int // that the program may use
	// Memory is the memory limit that applies to the program if Base sets none, in bytes;
	// 0 is Base.Memory.
	Memory int64
	Values Values
	Only   func(finding.Arm) bool // see SpaceInput
	// Snug are the knobs that snug's library would set; nil is unknown.
	Snug        *finding.Knobs
	Objective   Objective
	Constraints []Constraint
	// Budget is how long the search may take. PerRun is about how long a run takes, for
	// the plan before the first run.
	Budget time.Duration
	PerRun time.Duration
	Runs   int // the budget in runs, if Budget is 0
	Seed   uint64
	// Planned is called with the plan once the baseline is measured; an error ends the
	// search and is returned. nil is not called.
	Planned func(Plan) error
	// Progress is called before each run and at the end of each stage, never
	// concurrently. nil is not called.
	Progress func(stage string, p experiment.Progress)
}

// Preview returns the plan as far as it is known before a run, for the largest possible
// space. It returns an error if the input is not valid, and a [*BudgetError] if no useful
// search fits the budget.
func Preview(in Input) (Plan, error) {
	if err := in.check(); err != nil {
		return Plan{}, err
	}
	factors, candidates, _ := Space(in.space())
	return newPlan(in.Runs, in.Budget, in.PerRun, len(candidates), parameters(factors))
}

func (in *Input) space() SpaceInput {
	s := SpaceInput{
		Base: in.Base.Arm, CPUs: in.CPUs, Memory: in.Memory, Values: in.Values, Only: in.Only,
		CPUOnly: in.Objective.name != "p99",
	}
	if s.Memory == 0 {
		s.Memory = in.Base.Memory
	}
	for _, c := range in.Constraints {
		if c.name != "cpu" && c.name != "rps" && c.name != "wall" {
			s.CPUOnly = false
		}
	}
	if in.Snug != nil {
		s.Keep = []finding.Knobs{*in.Snug}
	}
	return s
}

// parameters returns the number of parameters of the additive model.
func parameters(factors []finding.Factor) int {
	n := 1
	for _, f := range factors {
		n += len(f.Values) - 1
	}
	return n
}

// search is one search under way.
type search struct {
	in      Input
	runner  experiment.Runner
	tune    *finding.Tune
	plan    Plan
	judge   judge
	runs    []finding.Run // of all stages except the confirmation
	rounds  int           // so far
	stages  int
	kept    [][]int // candidates, by stage
	started time.Time
	ranking []standing
	surface surface
}

// Run searches. With an error, also the context's, it returns what it has measured, and
// Complete is false. The document's setup holds only what the search knows: seed,
// objective, times, counts of runs.
//
// The document is nil if the input is not valid.
func Run(ctx context.Context, in Input, r experiment.Runner) (*finding.Tune, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if len(in.Base.Labels) == 0 {
		in.Base.Labels = []string{experiment.LabelDefault}
	}
	s := &search{in: in, runner: &tolerant{runner: r}, started: time.Now()}
	s.tune = &finding.Tune{
		Head:        finding.NewHead(finding.KindTune),
		Setup:       finding.Setup{Started: s.started, Seed: in.Seed, Objective: in.Objective.String()},
		Budget:      in.Budget.Seconds(),
		Constraints: []string{}, Space: []finding.Factor{}, Pruned: []finding.Pruned{}, Stages: []finding.Stage{},
		Effects: []finding.Effect{}, Unknown: []finding.Gap{}, Warnings: []finding.Warning{},
	}
	for _, c := range in.Constraints {
		s.tune.Constraints = append(s.tune.Constraints, c.String())
	}
	err := s.all(ctx)
	s.finish(err)
	return s.tune, err
}

func (s *search) all(ctx context.Context) error {
	base := Candidate{Arm: s.in.Base.Arm}
	s.judge = judge{candidates: []Candidate{base}, sizes: [knobs]int{1, 1, 1, 1}, objective: s.in.Objective}
	if err := s.stage(ctx, Step{"baseline", 1, baselineRuns}, []int{0}, []int{0}, 0); err != nil {
		return err
	}
	if err := s.checkBaseline(); err != nil {
		return err
	}
	if err := s.candidates(); err != nil || len(s.judge.candidates) < 2 {
		return err
	}
	arms := fraction(s.judge.candidates, s.judge.sizes, s.plan.Steps[1].Arms, s.in.Seed)
	if err := s.stage(ctx, s.plan.Steps[1], arms, nil, 0); err != nil {
		return err
	}
	for i := 2; i < len(s.plan.Steps)-1; i++ {
		s.replan(i)
		step := s.plan.Steps[i]
		if err := s.stage(ctx, step, s.best(step.Arms), nil, pessimist); err != nil {
			return err
		}
	}
	if top := s.ranking[0]; top.cell == 0 || !top.feasible() {
		return nil
	}
	return s.confirm(ctx)
}

// candidates makes the space and the plan from the baseline's runs.
func (s *search) candidates() error {
	in := s.in.space()
	s.observe(&in)
	factors, candidates, pruned := Space(in)
	s.tune.Space, s.tune.Pruned = factors, append(s.tune.Pruned, pruned...)
	s.judge.candidates = candidates
	for k, f := range factors {
		s.judge.sizes[k] = len(f.Values)
	}
	s.judge.constraints = append(s.limits(in.Memory), s.in.Constraints...)
	s.judge.errors = s.errors()
	s.ranking, s.surface = s.judge.rank(s.runs, 0)
	perRun := s.in.PerRun
	if s.in.Budget > 0 {
		perRun = max(1, time.Since(s.started)/time.Duration(len(s.runs)))
	}
	var err error
	if s.plan, err = newPlan(s.in.Runs, s.in.Budget, perRun, len(candidates), parameters(factors)); err != nil {
		return err
	}
	if s.in.Planned != nil {
		return s.in.Planned(s.plan)
	}
	return nil
}

// replan divides the rest of the budget over the rungs from step i on: runs may have been
// repeated, or take longer with other knobs.
func (s *search) replan(i int) {
	if s.in.Budget == 0 {
		return
	}
	last := s.tune.Stages[len(s.tune.Stages)-1]
	perRun := last.Seconds / float64(max(1, last.Runs))
	left := int((s.in.Budget-time.Since(s.started)).Seconds()/max(perRun, 1e-6)) - 2*confirmPairs
	var sizes []int
	for _, step := range s.plan.Steps[i : len(s.plan.Steps)-1] {
		sizes = append(sizes, step.Arms)
	}
	copy(s.plan.Steps[i:], halving(left, sizes))
}

// best returns the n leading candidates.
func (s *search) best(n int) []int {
	var cells []int
	for _, t := range s.ranking[:min(n, len(s.ranking))] {
		cells = append(cells, t.cell)
	}
	return cells
}

// stage measures candidates and ranks all of them. A nil kept is replaced by the
// candidates that the next step will measure.
func (s *search) stage(ctx context.Context, step Step, cells, kept []int, z float64) error {
	d := &experiment.Design{Rounds: step.Rounds, Seed: s.seed()}
	for _, c := range cells {
		d.Arms = append(d.Arms, s.arm(c))
	}
	began := time.Now()
	runs, err := s.execute(ctx, step.Name, d)
	for i := range runs {
		runs[i].Round += s.rounds
	}
	s.rounds += step.Rounds
	s.runs = append(s.runs, runs...)
	s.ranking, s.surface = s.judge.rank(s.runs, z)
	if kept == nil {
		next := 1
		if i := slices.IndexFunc(s.plan.Steps, func(o Step) bool { return o.Name == step.Name }); i+2 < len(s.plan.Steps) {
			next = s.plan.Steps[i+1].Arms
		}
		kept = s.best(next)
	}
	if err != nil {
		kept = []int{}
	}
	s.done(step.Name, began, len(runs), kept)
	return err
}

func (s *search) done(name string, began time.Time, runs int, kept []int) {
	s.tune.Stages = append(s.tune.Stages, finding.Stage{Name: name, Runs: runs, Seconds: time.Since(began).Seconds()})
	s.kept = append(s.kept, kept)
}

func (s *search) execute(ctx context.Context, stage string, d *experiment.Design) ([]finding.Run, error) {
	var progress func(experiment.Progress)
	if s.in.Progress != nil {
		progress = func(p experiment.Progress) { s.in.Progress(stage, p) }
	}
	runs, err := experiment.Execute(ctx, d, s.runner, nil, progress)
	s.tune.Repeated += experiment.Repeated(runs)
	s.tune.Excluded += experiment.Excluded(runs)
	return runs, err
}

// seed returns the seed of the next stage: every stage has its own arrivals. It is below
// 2^53, which JSON readers keep exactly.
func (s *search) seed() uint64 {
	s.stages++
	return rand.New(rand.NewPCG(s.in.Seed, 1<<62|uint64(s.stages))).Uint64N(1 << 53)
}

// arm returns a candidate with its labels.
func (s *search) arm(cell int) experiment.Arm {
	a := experiment.Arm{Arm: s.judge.candidates[cell].Arm, Rate: s.in.Base.Rate}
	if cell == 0 {
		a.Labels = slices.Clone(s.in.Base.Labels)
	}
	if s.isSnug(cell) {
		a.Labels = append(a.Labels, experiment.LabelSnug)
	}
	return a
}

// isSnug reports whether a candidate is what snug's library would set.
func (s *search) isSnug(cell int) bool {
	if s.in.Snug == nil {
		return false
	}
	own := space{SpaceInput: s.in.space()}
	own.Procs = s.procs()
	arm := s.in.Base.Arm
	arm.Knobs = *s.in.Snug
	return own.key(arm) == own.key(s.judge.candidates[cell].Arm)
}
