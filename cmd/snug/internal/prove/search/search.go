// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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
	Snug      *finding.Knobs
	Objective Objective
	// Auto replaces the objective by throughput where the setting to beat waits for
	// something else than CPU time, see [experiment.Waits]. Elsewhere a setting then wins
	// only if it is not worse in a metric of [experiment.Guarded].
	Auto        bool
	Constraints []Constraint
	// Budget is how long the search may take. PerRun is about how long a run takes, for
	// the plan before the first run.
	Budget time.Duration
	PerRun time.Duration
	Runs   int // the budget in runs, if Budget is 0
	Seed   uint64
	// Record keeps the runs, see [experiment.OpenSearch]; nil keeps none. A search that is
	// resumed with the runs of an earlier start makes the same choices.
	Record *experiment.Record
	// Progress is called before each run and at the end of each stage, never
	// concurrently; spent is what the runs so far took. nil is not called.
	Progress func(stage string, spent time.Duration, p experiment.Progress)
}

// Preview returns what a search is going to do, for the largest possible space. It returns
// an error if the input is not valid, and a [*BudgetError] if the budget allows no useful
// search.
func Preview(in Input) (Plan, error) {
	if err := in.check(); err != nil {
		return Plan{}, err
	}
	factors, candidates, _ := Space(in.space())
	l := newLedger(&in)
	p := Plan{Candidates: len(candidates), Runs: baselineRuns}
	if runs := l.left(); len(candidates) > 1 {
		steps := divide(runs-baselineOf(runs), len(candidates), parameters(factors), varied(factors))
		if runs < smallest || steps == nil {
			return Plan{}, tooSmall(&in)
		}
		p.Runs = baselineOf(runs) + 2*confirmPairs
		for _, s := range steps {
			p.Runs += s.Runs()
		}
		p.Runs = min(p.Runs, runs)
	}
	p.Expected, p.AtMost = l.duration(p.Runs), in.Budget
	return p, nil
}

// baselineOf returns how many runs of the baseline a budget allows.
func baselineOf(runs int) int {
	if runs < smallest+minScreen {
		return minBaseline
	}
	return baselineRuns
}

func tooSmall(in *Input) *BudgetError {
	e := &BudgetError{Budget: in.Budget, Runs: in.Runs, NeedRuns: smallest}
	if in.Budget > 0 {
		e.Need = (smallest*in.PerRun + time.Minute - 1).Truncate(time.Minute)
	}
	return e
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

// Identity returns what the choices of a search depend on besides its runs, the seed and
// the baseline, for [experiment.OpenSearch].
func (in *Input) Identity() map[string]string {
	var constraints []string
	for _, c := range in.Constraints {
		constraints = append(constraints, c.String())
	}
	snug := ""
	if in.Snug != nil {
		snug = strings.Join([]string{in.Snug.GOMAXPROCS, in.Snug.GOGC, in.Snug.GOMEMLIMIT}, " ")
	}
	return map[string]string{
		"objective": in.Objective.String(), "auto": strconv.FormatBool(in.Auto), "constraints": strings.Join(constraints, " "),
		"budget": in.Budget.String(), "CPUs": strconv.Itoa(in.CPUs), "memory limit": strconv.FormatInt(in.Memory, 10),
		"values": fmt.Sprintf("%q %q %q %v", in.Values.GOMAXPROCS, in.Values.GOGC, in.Values.GOMEMLIMIT, in.Values.Burst), "snug's plan": snug,
	}
}

// parameters returns the number of parameters of the additive model.
func parameters(factors []finding.Factor) int {
	n := 1
	for _, f := range factors {
		n += len(f.Values) - 1
	}
	return n
}

// varied returns the number of knobs with several values.
func varied(factors []finding.Factor) int {
	n := 0
	for _, f := range factors {
		if len(f.Values) > 1 {
			n++
		}
	}
	return n
}

// search is one search under way.
type search struct {
	in     Input
	trials trials
	tune   *finding.Tune
	judge  judge
	// ref is the candidate that the others must beat: the baseline, or snug's plan where
	// the baseline fails and that does not.
	ref       int
	reserve   int           // runs to keep for the confirmation
	runs      []finding.Run // of all stages except the confirmation
	rounds    int           // so far
	stages    int
	kept      [][]int // candidates, by stage
	started   time.Time
	ranking   []standing
	surface   surface
	confirmed []int // candidates of the confirmation, by its cells
	paired    int   // rounds of the confirmation
	// unaffordable: a setting leads, and the budget allows no confirmation.
	unaffordable bool
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
	s := &search{in: in, trials: trials{runner: r, record: in.Record, ledger: newLedger(&in)}, started: time.Now()}
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
	if err := s.alone(ctx, "baseline", 0); err != nil {
		return err
	}
	if err := s.checkBaseline(); err != nil {
		return err
	}
	if err := s.reference(ctx); err != nil {
		return err
	}
	s.follow()
	factors := s.candidates()
	if len(s.judge.candidates) < 2 {
		return nil
	}
	steps := divide(s.trials.left(), len(s.judge.candidates), parameters(factors), varied(factors))
	if len(steps) == 0 && s.ref == 0 {
		return nil // the budget ended it: the baseline took longer than expected
	}
	if len(steps) > 0 {
		arms := fraction(s.judge.candidates, s.judge.sizes, steps[0].Arms, s.in.Seed)
		s.reserve = s.trials.left() - runsOf(steps)
		if err := s.stage(ctx, steps[0], arms, steps[1:], 0); err != nil || !s.anyScored() {
			return err
		}
		steps = steps[1:]
	}
	for ; len(steps) > 0; steps = steps[1:] {
		if steps = s.replan(steps); len(steps) == 0 {
			break
		}
		if err := s.stage(ctx, steps[0], s.best(steps[0].Arms), steps[1:], pessimist); err != nil {
			return err
		}
	}
	return s.confirm(ctx)
}

// runsOf returns the number of runs of steps, without repetitions.
func runsOf(steps []Step) int {
	n := 0
	for _, s := range steps {
		n += s.Runs()
	}
	return n
}

// reference measures snug's plan where the baseline is OOM-killed or finishes nothing, and
// makes it the setting to beat: "better than what dies" is no recommendation.
func (s *search) reference(ctx context.Context) error {
	s.judge.errors = s.errors()
	why := s.judge.failure(s.runs)
	if s.in.Snug == nil || why != finding.BrokeMemory && why != finding.BrokeNothing {
		return nil
	}
	own := space{SpaceInput: s.in.space()}
	arm := s.in.Base.Arm
	arm.Knobs = *s.in.Snug
	if own.key(arm) == own.key(s.in.Base.Arm) {
		return nil
	}
	s.judge.candidates = append(s.judge.candidates, Candidate{Arm: own.arm(own.key(arm)), levels: [knobs]int{1}})
	s.judge.sizes[0] = 2
	if err := s.alone(ctx, "plan", 1); err != nil {
		return err
	}
	if s.judge.failure(s.judge.byCell(s.runs)[1]) == "" {
		s.ref = 1
	}
	return nil
}

// follow makes throughput the objective where that is what the data call for. A resumed search
// has the same runs, and so the same objective.
func (s *search) follow() {
	c := finding.Cell{Arm: s.refArm(), Rounds: s.judge.byCell(s.runs)[s.ref]}
	switch {
	case !s.in.Auto:
	case s.ref != 0 || len(s.in.Constraints) > 0 || s.fails(0) != nil:
		s.in.Auto = false // living, or holding a bound, may cost throughput
	case experiment.Waits(&c, s.in.CPUs):
		s.in.Auto = false // more CPU time per request is a price of more throughput
		s.in.Objective, _ = ParseObjective("rps")
		s.judge.objective, s.tune.Objective = s.in.Objective, s.in.Objective.String()
	default:
		s.judge.guarded = !experiment.OpenLoop(c.Arm)
	}
}

// candidates makes the space from what was measured so far, and returns its factors.
func (s *search) candidates() []finding.Factor {
	measured := s.judge.candidates
	reference := measured[s.ref].Arm
	in := s.in.space()
	s.observe(&in)
	factors, candidates, pruned := Space(in)
	s.tune.Space, s.tune.Pruned = factors, append(s.tune.Pruned, pruned...)
	s.judge.candidates = candidates
	at := func(a finding.Arm) int {
		return max(0, slices.IndexFunc(candidates, func(c Candidate) bool { return c.Arm == a }))
	}
	s.ref = at(reference)
	if len(measured) > 1 { // snug's plan has another place now
		s.kept[1] = []int{at(measured[1].Arm)}
	}
	for k, f := range factors {
		s.judge.sizes[k] = len(f.Values)
	}
	s.judge.constraints = append(s.limits(in.Memory), s.in.Constraints...)
	s.ranking, s.surface = s.judge.rank(s.runs, 0)
	return factors
}

// replan divides what the budget still allows over the rungs: runs may have been repeated,
// or take longer with other knobs. It leaves out the first rungs if they do not fit.
func (s *search) replan(rungs []Step) []Step {
	left := s.trials.left() - s.reserve
	for len(rungs) > 0 {
		var sizes []int
		sum := 0
		for _, step := range rungs {
			sizes = append(sizes, step.Arms)
			sum += step.Arms
		}
		if sum <= left {
			return halving(left, sizes)
		}
		rungs = rungs[1:]
	}
	return nil
}

// best returns the n leading candidates.
func (s *search) best(n int) []int {
	var cells []int
	for _, t := range s.ranking[:min(n, len(s.ranking))] {
		cells = append(cells, t.cell)
	}
	return cells
}

// alone measures one candidate at the beginning: as often as the budget allows, and up to
// baselineRuns times.
func (s *search) alone(ctx context.Context, name string, cell int) error {
	first := s.trials.n
	s.trials.allowed = func() bool {
		few := s.trials.n-first < minBaseline
		return s.trials.limit() && (few || s.trials.holds(smallest-minBaseline))
	}
	return s.measure(ctx, Step{name, 1, baselineRuns}, []int{cell}, 0, func() []int { return []int{cell} })
}

// stage measures candidates and ranks all of them; next are the steps after it.
func (s *search) stage(ctx context.Context, step Step, cells []int, next []Step, z float64) error {
	s.trials.allowed = func() bool { return s.trials.holds(s.reserve) }
	return s.measure(ctx, step, cells, z, func() []int {
		if len(next) == 0 {
			return s.best(1)
		}
		return s.best(next[0].Arms)
	})
}

func (s *search) measure(ctx context.Context, step Step, cells []int, z float64, kept func() []int) error {
	d := &experiment.Design{Rounds: step.Rounds, Seed: s.seed()}
	for _, c := range cells {
		d.Arms = append(d.Arms, s.arm(c))
	}
	runs, short, err := s.execute(ctx, step.Name, d)
	for i := range runs {
		runs[i].Round += s.rounds
	}
	s.rounds += step.Rounds
	s.runs = append(s.runs, runs...)
	s.ranking, s.surface = s.judge.rank(s.runs, z)
	s.done(step.Name, runs, short, kept, err)
	return err
}

// done records a stage. kept returns the candidates that go on.
func (s *search) done(name string, runs []finding.Run, short bool, kept func() []int, err error) {
	stage := finding.Stage{Name: name, Runs: len(runs), Short: short}
	for _, r := range runs {
		stage.Seconds += r.Took
	}
	s.tune.Stages = append(s.tune.Stages, stage)
	cells := []int{}
	if err == nil {
		cells = kept()
	}
	s.kept = append(s.kept, cells)
}

// execute does the runs of a design; short reports that the budget ended it early.
func (s *search) execute(ctx context.Context, stage string, d *experiment.Design) (runs []finding.Run, short bool, err error) {
	var progress func(experiment.Progress)
	if s.in.Progress != nil {
		progress = func(p experiment.Progress) {
			s.in.Progress(stage, time.Duration(s.trials.spent*float64(time.Second)), p)
		}
	}
	runs, err = experiment.Execute(ctx, d, &s.trials, nil, progress)
	if errors.Is(err, errBudget) {
		short, err = true, nil
	}
	s.tune.Repeated += experiment.Repeated(runs)
	s.tune.Excluded += experiment.Excluded(runs)
	return runs, short, err
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
