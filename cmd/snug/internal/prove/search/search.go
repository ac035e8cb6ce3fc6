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
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
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
	Seed   uint64
	Pace   *Pace // of runs under load; nil leaves it to the Runner
	// Record keeps the runs, see [experiment.OpenRecord]; nil keeps none. A search that is
	// resumed with the runs of an earlier start makes the same choices.
	Record *experiment.Record
	// Progress is called before each run and at the end of each stage, never
	// concurrently; spent is what the runs so far took. nil is not called.
	Progress func(stage string, spent time.Duration, p experiment.Progress)
}

// Design returns what is known of a search before its first run, for [experiment.OpenRecord].
func (in *Input) Design() *experiment.Design {
	return &experiment.Design{Arms: []experiment.Arm{in.Base}, Seed: in.Seed}
}

// Identity returns what the choices of a search depend on besides its runs, the seed and
// the baseline, for [experiment.OpenRecord].
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
		"objective": in.Objective.String(), "auto": strconv.FormatBool(in.Auto),
		"constraints": strings.Join(constraints, " "),
		"budget":      in.Budget.String(), "CPUs": strconv.Itoa(in.CPUs), "memory limit": strconv.FormatInt(in.Memory, 10),
		"values":      fmt.Sprintf("%q %q %q", in.Values.GOMAXPROCS, in.Values.GOGC, in.Values.GOMEMLIMIT),
		"snug's plan": snug,
	}
}

func (in *Input) space() SpaceInput {
	s := SpaceInput{
		Base: in.Base.Arm, CPUs: in.CPUs, Memory: in.Memory, Values: in.Values, Only: in.Only,
		CPUOnly: in.Objective.name != "p99", Snug: in.Snug,
	}
	if s.Memory == 0 {
		s.Memory = in.Base.Memory
	}
	for _, c := range in.Constraints {
		if c.name != "cpu" && c.name != "rps" && c.name != "wall" {
			s.CPUOnly = false
		}
	}
	return s
}

// search is one search under way.
type search struct {
	in     Input
	trials trials
	tune   *finding.Tune
	judge  judge
	// ref is the candidate that the others must beat: the baseline, or snug's plan where
	// the baseline fails and that does not.
	ref        int
	overridden [knobs]string // see SpaceInput
	reserve    int           // runs to keep for the confirmation
	runs       []finding.Run // of all stages except the confirmation
	rounds     int           // so far
	stages     int
	kept       [][]int // candidates, by stage
	started    time.Time
	ranking    []standing      // of the candidates left, the best first
	first      map[int]float64 // scores of the first stage with several settings
	confirmed  []int           // candidates of the confirmation, by its cells
	paired     int             // rounds of the confirmation
	long       *float64        // CPU seconds per operation in a first look without a course; nil is none
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
	s := &search{in: in, trials: trials{ledger: newLedger(&in)}, started: time.Now()}
	s.trials.runner = in.Record.Over(Tolerant{r, &s.trials.proven})
	s.tune = &finding.Tune{
		Head:        finding.NewHead(finding.KindTune),
		Setup:       finding.Setup{Started: s.started, Seed: in.Seed, Objective: in.Objective.String()},
		Budget:      in.Budget.Seconds(),
		Constraints: []string{}, Space: []finding.Factor{}, Pruned: []finding.Pruned{}, Stages: []finding.Stage{},
		Unknown: []finding.Gap{}, Warnings: []finding.Warning{},
	}
	for _, c := range in.Constraints {
		s.tune.Constraints = append(s.tune.Constraints, c.String())
	}
	s.judge = judge{candidates: []finding.Arm{in.Base.Arm}, objective: in.Objective}
	err := s.all(ctx)
	s.finish(err)
	return s.tune, err
}

func (s *search) all(ctx context.Context) error {
	if err := s.pace(ctx); err != nil {
		return err
	}
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
	s.candidates()
	if err := s.halve(ctx); err != nil || len(s.judge.candidates) < 2 {
		return err
	}
	return s.confirm(ctx)
}

// alone measures one candidate by itself.
func (s *search) alone(ctx context.Context, name string, cell int) error {
	s.trials.allowed = s.trials.limit
	return s.measure(ctx, name, baselineRuns, []int{cell}, func() []int { return []int{cell} })
}

// reference measures snug's plan where the baseline is OOM-killed or finishes nothing, and
// makes it the setting to beat: "better than what dies" is no recommendation.
func (s *search) reference(ctx context.Context) error {
	s.judge.errors = s.errors()
	own := &space{SpaceInput: s.in.space()}
	if n, of := lost(s.runs); s.in.Snug == nil || n <= of/2 || own.snug() == own.normal(s.in.Base.Arm) {
		return nil
	}
	s.judge.candidates = append(s.judge.candidates, own.snug())
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

// candidates makes the space from what was measured so far.
func (s *search) candidates() {
	measured := s.judge.candidates
	in := s.in.space()
	in.Procs, in.Overridden = s.procs(), s.overridden
	// The runtime's estimate counts throttled time as GC time, so the true share is at most this.
	in.GC = s.medianOf(func(r *finding.Run) *float64 {
		if r.GCCPU == nil || r.CPU == nil || *r.CPU <= 0 {
			return nil
		}
		return new(*r.GCCPU / *r.CPU)
	})
	factors, candidates, pruned := Space(in)
	s.tune.Space, s.tune.Pruned = factors, append(s.tune.Pruned, pruned...)
	s.judge.candidates = candidates
	if len(measured) > 1 && !slices.Contains(candidates, measured[1]) { // snug's plan, spelled as it was measured
		s.judge.candidates = slices.Insert(candidates, 1, measured[1])
	}
	s.judge.constraints = append(s.limits(in.Memory), s.in.Constraints...)
}

// halve measures all candidates in the same rounds, leaves out the worse half, and so on. The
// setting to beat is always among them.
func (s *search) halve(ctx context.Context) error {
	var sizes []int
	sizes, s.reserve = divide(s.trials.left(), len(s.judge.candidates))
	if len(sizes) == 0 {
		return nil
	}
	field := above(0, sizes[0])
	if !slices.Contains(field, s.ref) {
		field[len(field)-1] = s.ref
	}
	for len(sizes) > 0 {
		left := s.trials.left() - s.reserve
		name, n, rounds := "screen", sizes[0], max(1, left/len(sizes)/sizes[0])
		if s.first != nil {
			name = fmt.Sprintf("halve %d", n)
		}
		if s.first != nil && left < n {
			break
		}
		sizes = sizes[1:]
		s.trials.allowed = func() bool { return s.trials.holds(s.reserve) }
		if err := s.measure(ctx, name, rounds, field, func() []int {
			field = s.best(append(sizes, 1)[0])
			return field
		}); err != nil {
			return err
		}
		if s.first == nil {
			s.first, _ = s.judge.scores(s.judge.byCell(s.runs), above(0, n), s.ref, s.judge.objective.figure)
		}
	}
	return nil
}

// best returns the n leading candidates, with the setting to beat.
func (s *search) best(n int) []int {
	var cells []int
	for _, t := range s.ranking[:min(n, len(s.ranking))] {
		cells = append(cells, t.cell)
	}
	if n > 1 && !slices.Contains(cells, s.ref) {
		cells[len(cells)-1] = s.ref
	}
	return cells
}

func (s *search) measure(ctx context.Context, name string, rounds int, field []int, kept func() []int) error {
	d := &experiment.Design{Rounds: rounds, Seed: s.seed()}
	for _, c := range field {
		d.Arms = append(d.Arms, s.arm(c))
	}
	runs, short, err := s.execute(ctx, name, d)
	for i := range runs {
		runs[i].Round += s.rounds
	}
	s.rounds += rounds
	s.runs = append(s.runs, runs...)
	s.ranking = s.judge.rank(s.runs, field, s.ref)
	s.done(name, runs, short, kept, err)
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
func (s *search) execute(
	ctx context.Context, stage string, d *experiment.Design,
) (runs []finding.Run, short bool, err error) {
	var progress func(experiment.Progress)
	if s.in.Progress != nil {
		progress = func(p experiment.Progress) {
			s.in.Progress(stage, time.Duration(s.trials.spent*float64(time.Second)), p)
		}
	}
	runs, err = experiment.Execute(ctx, d, &s.trials, progress)
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
	a := experiment.Arm{Arm: s.judge.candidates[cell], Rate: s.in.Base.Rate}
	if cell == 0 {
		a.Labels = slices.Clone(s.in.Base.Labels)
	}
	own := space{SpaceInput: s.in.space()}
	if own.Procs = s.procs(); s.in.Snug != nil && own.snug() == own.normal(a.Arm) {
		a.Labels = append(a.Labels, experiment.LabelSnug)
	}
	return a
}

// procs returns the GOMAXPROCS of the baseline, or of another setting that leaves it
// alone; nil if no run reported it.
func (s *search) procs() *int {
	for _, r := range s.runs {
		if r.Arm.GOMAXPROCS == s.in.Base.GOMAXPROCS && r.Procs != nil {
			return r.Procs
		}
	}
	return nil
}

// medianOf returns the median of a figure of the setting to beat; nil if no run has it.
func (s *search) medianOf(read func(*finding.Run) *float64) *float64 {
	var x []float64
	for i := range s.runs {
		if v := read(&s.runs[i]); v != nil && s.runs[i].Invalid == "" && s.runs[i].Arm == s.refArm() {
			x = append(x, *v)
		}
	}
	if len(x) == 0 {
		return nil
	}
	return new(stats.Median(x))
}

// errors returns the share of failed operations in all runs so far that were not
// OOM-killed: failures of a killed run say nothing about other settings.
func (s *search) errors() float64 {
	var ops, errors int64
	for _, r := range s.runs {
		if r.Invalid == "" && !killed(&r) {
			ops, errors = ops+r.Ops, errors+r.Errors
		}
	}
	return float64(errors) / max(1, float64(ops+errors))
}

// refArm returns the arm of the setting to beat.
func (s *search) refArm() finding.Arm { return s.judge.candidates[s.ref] }

func or(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

// above returns the numbers from a to below b.
func above(a, b int) []int {
	var out []int
	for ; a < b; a++ {
		out = append(out, a)
	}
	return out
}

// Codes of warnings, see snug explain.
const (
	WarnP99    = "tune-p99"
	WarnTrade  = "tune-trade"
	WarnWindow = "tune-window"
)

func (s *search) warn(code, format string, args ...any) {
	s.tune.Warnings = append(s.tune.Warnings, finding.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}
