// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// sizing is the course of a search: what was tried, and the answer.
type sizing struct {
	*Size
	first   experiment.Runner // of the roomiest container
	runner  experiment.Runner // of smaller ones
	search  *size.Search      // nil before the watch ended
	seen    *finding.Size     // the watch's answer
	at      []size.Container  // of tried
	tried   []finding.SizeTrial
	all     []finding.Run
	shown   *size.Container // that kept the bound in all of its fresh runs
	refuted int             // answers that did not
	lacked  string          // why the search ended without enough runs that count; "" = it did not
	started time.Time
	most    time.Duration
	say     func(func(time.Duration) string)
}

// execute does the runs of a design, and says which.
func (t *sizing) execute(
	ctx context.Context, r experiment.Runner, d *experiment.Design, doing string,
) ([]finding.Run, error) {
	began := time.Since(t.started)
	runs, err := experiment.Execute(ctx, d, r, func(p experiment.Progress) {
		spent := time.Since(t.started)
		t.say(func(since time.Duration) string {
			text := doing
			if p.Total > 1 {
				text += fmt.Sprintf(", run %d of %d", min(p.Done+1, p.Total), p.Total)
			}
			return text + "; " + approximate(spent+since) + " of at most " + approximate(max(t.most, began+t.perRun()))
		})
	})
	t.all = append(t.all, runs...)
	return runs, err
}

// watch loads the program in the roomiest container and returns what its watch says. It fails where even that does not
// keep the bound.
func (t *sizing) watch(ctx context.Context, roomiest size.Container) (*finding.Size, error) {
	k, _ := t.choice.fit(roomiest.Cores, int64(roomiest.Memory))
	arm := t.arm(roomiest, finding.Knobs{GOMAXPROCS: k.GOMAXPROCS, GOMEMLIMIT: k.GOMEMLIMIT})
	if arm.GOMAXPROCS != "" && t.choice.goVersion.Minor >= 25 && !t.choice.goVersion.Blind {
		arm.GOMAXPROCS = "" // Go chooses it
	}
	var wrong error
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	t.Size.runner.Watch = func(alive context.Context, pid int) {
		var d *finding.Size
		d, wrong = t.Watch(alive, pid, t.For, t.Price)
		if t.seen = d; wrong != nil && alive.Err() == nil {
			cancel()
		}
	}
	window := t.window
	t.Size.runner.Window = t.For + time.Second // so that the watch ends under load
	runs, err := t.execute(inner, t.first, &experiment.Design{Arms: []experiment.Arm{arm}, Rounds: 1, Seed: t.seed},
		"watched in "+Described(roomiest))
	t.Size.runner.Watch, t.Size.runner.Window = nil, window
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && inner.Err() == nil:
		return nil, err
	case wrong != nil && (inner.Err() != nil || len(runs) == 0 || t.broken(runs[len(runs)-1]) == nil):
		return nil, wrong
	}
	kept, of, broken := t.counting(runs)
	if broken != nil && of > 0 && broken.Code == finding.BrokeBound { // one run may be bad luck
		if _, err := t.execute(ctx, t.first, &experiment.Design{Arms: []experiment.Arm{arm}, Rounds: 1, Seed: t.seed + 1},
			"once more in "+Described(roomiest)); err != nil {
			return nil, err
		}
		runs = t.all
		kept, of, broken = t.counting(runs)
	}
	if kept == 0 {
		return nil, t.impossible(roomiest, runs, of, broken)
	}
	if t.seen == nil {
		return nil, message.Failed("the watch in the roomiest container saw nothing",
			"run it again, with a longer watch: --for 1m")
	}
	t.search = size.NewSearch(t.Price, roomiest, t.seen)
	t.add(roomiest, arm.Arm, bare(runs, 0))
	return t.seen, nil
}

// impossible says what was reached where nothing smaller can do.
func (t *sizing) impossible(roomiest size.Container, runs []finding.Run, of int, broken *finding.Broken) error {
	last := &runs[len(runs)-1]
	if of == 0 {
		return message.Failed("no run counts at "+t.load+": "+last.Invalid,
			"leave the load CPUs of its own with --cpus, give it priority with --rt, or ask for less with --rate")
	}
	trial := &finding.SizeTrial{Broken: broken, Worst: t.worst(runs), Runs: runs}
	if broken.Code == finding.BrokeBound && trial.Worst == nil {
		return message.Failed("--slo "+message.Quote(t.bound)+": not measured",
			"the last line of the load command must have "+t.metric()+"; or bound another figure")
	}
	return message.Failed("not even "+Described(roomiest)+" keep "+t.goal()+": "+content.SizeBroke(trial, t.metric()),
		"ask for less: another --slo, or a lower --rate; or a larger machine")
}

func (t *sizing) metric() string {
	if len(t.bounds) == 0 {
		return ""
	}
	return t.bounds[0].Key
}

// add records runs of the search in a container.
func (t *sizing) add(c size.Container, arm finding.Arm, runs []finding.Run) {
	trial := finding.SizeTrial{Memory: c.Memory, CPU: c.Cores, Price: t.Price.Of(c), Predicted: c == t.search.Predicted(),
		Worst: t.worst(runs), Runs: runs}
	trial.Kept, trial.Of, trial.Broken = t.counting(runs)
	if n, err := strconv.ParseFloat(arm.GOMAXPROCS, 64); err == nil {
		trial.GOMAXPROCS = &n
	}
	if n, ok := units.ParseGoBytes(arm.GOMEMLIMIT); ok {
		trial.GOMEMLIMIT = new(float64(n))
	}
	t.at, t.tried = append(t.at, c), append(t.tried, trial)
}

// setting returns a container with Go's settings for it.
func (t *sizing) setting(c size.Container) experiment.Arm {
	if i := slices.Index(t.at, c); i == 0 { // the roomiest, as it was watched
		return experiment.Arm{Arm: t.all[0].Arm, Rate: rateOf(t.load)}
	}
	memory, _, procs, byGo := t.fits(c)
	var k finding.Knobs
	if n := memory.Value; n != nil {
		k.GOMEMLIMIT = units.GoMebibytes(int64(*n))
	}
	if n := procs.Value; n != nil && !byGo {
		k.GOMAXPROCS = strconv.FormatFloat(*n, 'f', 0, 64)
	}
	return t.arm(c, k)
}

func (t *sizing) fits(c size.Container) (memory, cpu, procs finding.SizeValue, byGo bool) {
	return size.Fits(c, t.seen, t.choice.goVersion.Minor, t.machine.CPUs, !t.choice.goVersion.Blind)
}

// find tries smaller containers, and confirms the cheapest that keeps the bound by fresh runs.
func (t *sizing) find(ctx context.Context) error {
	for i := range sizeConfirmations {
		for len(t.tried) <= sizeTries+i*sizeMore {
			c, ok := t.search.Next()
			if !ok {
				break
			}
			arm := t.setting(c)
			runs, err := t.execute(ctx, t.runner, &experiment.Design{Arms: []experiment.Arm{arm}, Rounds: 1, Seed: t.seed},
				"trying "+Described(c))
			if err != nil {
				return err
			}
			t.add(c, arm.Arm, bare(runs, 0))
			last := &t.tried[len(t.tried)-1]
			if t.lacks(c, last.Kept, last.Of, 1, runs) {
				return nil
			}
			t.search.Add(c, last.Kept > 0 && last.Broken == nil)
		}
		best, ok := t.search.Cheapest()
		if !ok {
			return nil
		}
		kept, err := t.confirm(ctx, best)
		if err != nil {
			return err
		}
		if kept {
			t.shown = &best
			return nil
		}
		if t.lacked != "" {
			return nil
		}
		t.search.Add(best, false)
		t.refuted++
	}
	return nil
}

// lacks reports whether runs say nothing of a container, and notes why: fewer than want count, and
// none of them breaks the bound.
func (t *sizing) lacks(c size.Container, kept, of, want int, runs []finding.Run) bool {
	if of >= want || kept < of {
		return false
	}
	t.lacked = fmt.Sprintf("%d of %s count in ", of, units.Plural(want, "run")) + Described(c)
	for i := range runs {
		if why := runs[i].Invalid; why != "" {
			t.lacked += ": " + why
			break
		}
	}
	return true
}

// confirm does fresh runs of a container, and in the same rounds of the next cheaper one, and reports
// whether the first kept it in all of them. No choice depended on these runs.
func (t *sizing) confirm(ctx context.Context, best size.Container) (bool, error) {
	which := []size.Container{best}
	if next, ok := t.search.Cheaper(best); ok {
		which = append(which, next)
		if !slices.Contains(t.at, next) { // a larger one broke the bound
			t.add(next, t.setting(next).Arm, []finding.Run{})
		}
	}
	d := &experiment.Design{Rounds: t.rounds, Seed: t.seed + uint64(1+len(t.tried))}
	for _, c := range which {
		d.Arms = append(d.Arms, t.setting(c))
	}
	runs, err := t.execute(ctx, t.runner, d, "confirming "+Described(best))
	all := false
	for i, c := range which {
		var own []finding.Run
		for _, r := range runs {
			if r.Arm == d.Arms[i].Arm {
				own = append(own, r)
			}
		}
		kept, of, broken := t.counting(own)
		if i == 0 {
			all = err == nil && broken == nil && of == t.rounds
			if err == nil {
				t.lacks(c, kept, of, t.rounds, own)
			}
		}
		t.confirmed(&t.tried[slices.Index(t.at, c)], kept, of, broken, bare(own, 1))
	}
	return all, err
}

// certainty returns the confidence of the intervals of a confirmation after a number of answers
// that fresh runs refuted: 0.95, and half as far from 1 for each. What the lower end says of an
// answer is then wrong in at most 2.5 % of searches for the first confirmation, 1.25 % for the
// second and so on: less than 5 % together. That is Bonferroni's inequality with weights
// (R. Rosenthal and D. Rubin, "Ensemble-adjusted p values", Psychological Bulletin 94, 1983).
func certainty(refuted int) float64 { return 1 - 0.05/float64(int(1)<<refuted) }

// confirmed adds fresh runs to those of a container.
func (t *sizing) confirmed(trial *finding.SizeTrial, kept, of int, broken *finding.Broken, runs []finding.Run) {
	if f := trial.Fresh; f != nil { // it was beside an earlier answer
		kept, of = kept+f.Kept, of+f.Of
	}
	if of > 0 {
		trial.Fresh = &finding.SizeFresh{Kept: kept, Of: of,
			Ratio: finding.Interval(stats.ProportionInterval(kept, of, certainty(t.refuted)))}
	}
	if trial.Broken == nil {
		trial.Broken = broken
	}
	trial.Runs = append(trial.Runs, runs...)
	trial.Worst = t.worst(trial.Runs)
}

// answer completes the document of the watch with what the search found.
func (t *sizing) answer(d *finding.Size, complete bool) {
	f := &finding.SizeSearch{Setup: t.setup(t.started), Bound: t.bound, Metric: t.metric(), Tried: t.tried}
	f.Setup.Seconds, f.Setup.Complete = time.Since(t.started).Seconds(), complete
	f.Setup.Repeated, f.Setup.Excluded = experiment.Repeated(t.all), experiment.Excluded(t.all)
	f.Setup.Machine.Generator = generator(t.all)
	if rate := rateOf(t.load); rate > 0 {
		f.Rate = &rate
	}
	d.Search, d.Target, d.Next = f, t.Cmd[0], ""
	none := finding.SizeValue{Why: finding.Why{Code: finding.SizeEnded}}
	if complete {
		none.Why = finding.Why{Code: finding.SizeNothing, Of: t.goal()}
	}
	if t.lacked != "" {
		none.Why = finding.Why{Code: finding.SizeLacked, Detail: t.lacked}
	}
	d.Memory, d.GOMEMLIMIT, d.CPURequest, d.CPULimit, d.GOMAXPROCS, d.ByGo = none, none, none, none, none, false
	d.Unseen = []finding.Why{unseen(finding.SizeOtherLoads, t.window.Round(time.Second).Seconds())}
	for i := range d.Curve {
		d.Curve[i].Chosen = t.shown != nil && d.Curve[i].Memory == t.shown.Memory
	}
	if t.shown != nil {
		t.values(d, *t.shown)
	}
	for _, w := range t.allWarnings() {
		d.Unseen = append(d.Unseen, finding.Why{Code: finding.SizeSaid, Detail: w.Text})
	}
}

// values fills in the container that was confirmed.
func (t *sizing) values(d *finding.Size, c size.Container) {
	f, at := d.Search, slices.Index(t.at, c)
	f.Shown, f.Answer, f.Untried = true, &at, t.search.Open()
	trial := &t.tried[at]
	d.GOMEMLIMIT, d.CPULimit, d.GOMAXPROCS, d.ByGo = t.fits(c)
	d.GOMEMLIMIT.Value = trial.GOMEMLIMIT
	switch procs := trial.GOMAXPROCS; {
	case procs == nil && !d.ByGo:
		d.GOMAXPROCS, d.ByGo = finding.SizeValue{Why: finding.Why{Code: finding.SizeLeftToGo}}, true
	case procs != nil && (d.ByGo || d.GOMAXPROCS.Value == nil || *d.GOMAXPROCS.Value != *procs):
		d.GOMAXPROCS, d.ByGo = finding.SizeValue{Value: procs, Why: finding.Why{Code: finding.SizeAsTried}}, false
	}
	why := unseen(finding.SizeKept, float64(trial.Fresh.Kept), float64(trial.Fresh.Of))
	why.Of = t.goal()
	d.Memory.Value, d.Memory.Why, d.CPULimit.Why = &c.Memory, why, why
	d.CPURequest = finding.SizeValue{Value: &c.Cores, Why: finding.Why{Code: finding.SizeLimitOnly}}
	d.Unseen = append(d.Unseen, unseen(finding.SizeNearlyAll, float64(trial.Fresh.Kept), float64(trial.Fresh.Of),
		trial.Fresh.Ratio.Low, float64(t.refuted)))
	if f.Untried > 0 {
		d.Unseen = append(d.Unseen, unseen(finding.SizeUntried, float64(f.Untried)))
	}
	next, ok := t.search.Cheaper(c)
	if !ok {
		d.Unseen = append(d.Unseen, unseen(finding.SizeSmallest))
		return
	}
	cheaper := slices.Index(t.at, next)
	f.Cheaper = &cheaper
	if fresh := t.tried[cheaper].Fresh; fresh != nil && fresh.Kept == fresh.Of {
		kept := unseen(finding.SizeAlsoKept, float64(fresh.Kept), float64(fresh.Of))
		kept.Of = Described(next)
		d.Unseen = append(d.Unseen, kept)
	}
}

func unseen(code string, numbers ...float64) finding.Why {
	return finding.Why{Code: code, Numbers: numbers}
}
