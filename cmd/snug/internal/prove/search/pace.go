// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

const (
	// latencies is how many median latencies a window holds at least: of what is under way at
	// its ends half a request of each user counts for the wrong side.
	latencies = 10
	// longLook bounds the first look at a program, whose window is counted in lookSlices.
	longLook   = 20 * time.Second
	lookSlices = 16
	// probeTime is enough to see whether a program sets knobs at its start.
	probeTime = time.Second
	// changing is how far the cost of a request may be from that at the end, as a share.
	changing = 0.15
)

// Pace is how long runs under load are warmed and measured.
type Pace struct {
	Warm, Window           time.Duration
	FixedWarm, FixedWindow bool          // the operator's own
	Rest                   time.Duration // what a run takes besides
	// Set sets them for the runs that follow, and in how many slices their window is counted too.
	Set func(warm, window time.Duration, slices int)
}

// pace looks at the baseline for longer than a run takes, and at a run with every knob changed:
// for the window that holds enough latencies, the warm-up after which a request costs what it
// costs later, and the knobs that the program sets itself.
func (s *search) pace(ctx context.Context) error {
	p := s.in.Pace
	if p == nil {
		return nil
	}
	look := min(longLook, max(4*p.Window, s.in.Budget/12))
	run, err := s.look(ctx, s.in.Base, look)
	if run == nil || err != nil {
		s.done("pace", nil, err == nil, func() []int { return []int{0} }, err)
		return err
	}
	runs := []finding.Run{*run}
	if run.Effective != nil {
		if other := s.changed(run.Effective); other.Knobs != s.in.Base.Knobs {
			probe, err := s.look(ctx, experiment.Arm{Arm: other, Rate: s.in.Base.Rate}, min(probeTime, p.Window))
			if err != nil {
				s.done("pace", runs, false, nil, err)
				return err
			}
			if probe != nil {
				runs = append(runs, *probe)
				s.override(probe)
			}
		}
	}
	s.done("pace", runs, false, func() []int { return []int{0} }, nil)
	if run.Timeline == nil {
		s.long = run.CPUPerOp
	}
	warm, window, err := s.fit(run)
	if err != nil {
		return err
	}
	p.Set(warm, window, 0)
	s.tune.WarmUp, s.tune.Window = warm.Seconds(), window.Seconds()
	s.trials.perRun, s.trials.costs = (warm + window + p.Rest).Seconds(), nil
	return nil
}

// look does one run without a warm-up; nil if the budget does not allow it, or it does not count.
func (s *search) look(ctx context.Context, a experiment.Arm, window time.Duration) (*finding.Run, error) {
	s.in.Pace.Set(0, window, lookSlices)
	s.trials.allowed, s.trials.perRun = s.trials.limit, (window + s.in.Pace.Rest).Seconds()
	d := &experiment.Design{Arms: []experiment.Arm{a}, Rounds: 1, MaxTries: 1, Seed: s.seed()}
	runs, _, err := s.execute(ctx, "pace", d)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &runs[0], nil
}

// fit returns the warm-up and the window that a look asks for. It fails if the budget is too small
// for the window, and warns if it is for the warm-up.
func (s *search) fit(r *finding.Run) (warm, window time.Duration, err error) {
	p := s.in.Pace
	warm, window = p.Warm, p.Window
	why := ""
	if r.P50 != nil && *r.P50*latencies > window.Seconds() {
		need := time.Duration(math.Ceil(*r.P50*latencies*10)) * 100 * time.Millisecond
		why = fmt.Sprintf(": a window must hold %d median latencies of %s", latencies, units.Seconds(*r.P50))
		if p.FixedWindow {
			return 0, 0, &UnmeasuredError{
				fmt.Sprintf("a window of %s is too short%s", window, why),
				fmt.Sprintf("give it --window %s, or leave that out", need),
			}
		}
		window = need
	}
	after, settled := settles(r.Timeline)
	if until := time.Duration(math.Ceil(after*10)) * 100 * time.Millisecond; until > warm {
		longer := smallest * (until + window + p.Rest)
		if left := s.in.Budget - time.Duration(s.trials.spent*float64(time.Second)); p.FixedWarm || longer > left {
			settled = false
		} else {
			warm = until
		}
	}
	if !settled {
		s.warn(WarnWindow, "windows begin %s after the start of a process, while the cost of a request still changes: "+
			"what it costs later may favour another setting; give it --warmup %s and more --budget",
			units.Seconds(warm.Seconds()), units.Seconds(max(after, 2*warm.Seconds())))
	}
	spent := time.Duration(s.trials.spent * float64(time.Second))
	if need := spent + smallest*(warm+window+p.Rest); need > s.in.Budget {
		return 0, 0, s.in.tooSmall(need, why)
	}
	return warm, window, nil
}

// settles returns after how many seconds an operation costs about what it costs at the end of a
// look; false if it still changes there. Without a timeline it is unknown: 0, true.
func settles(t *finding.Timeline) (after float64, ok bool) {
	var y []float64
	if t != nil {
		for i, rps := range t.RPS {
			cost := 1.0
			if i < len(t.CPU) && t.CPU[i] != nil {
				cost = *t.CPU[i]
			}
			if rps <= 0 || cost <= 0 {
				return 0, true
			}
			y = append(y, cost/rps)
		}
	}
	n := len(y)
	if n < 4 {
		return 0, true
	}
	end := stats.Median(y[n/2:])
	far := func(v float64) bool { return math.Abs(math.Log(v/end)) > math.Log1p(changing) }
	i := 0
	for i < n/2 && (far(y[i]) || far(y[i+1])) {
		i++
	}
	if late := stats.Median(y[n/2 : 3*n/4]); far(late * end / stats.Median(y[3*n/4:])) {
		i = n / 2
	}
	return float64(i) * t.Step, i < n/2
}

// changed returns the baseline with every knob that a search varies set to something else than it has.
func (s *search) changed(now *finding.Knobs) finding.Arm {
	own := &space{SpaceInput: s.in.space()}
	a := s.in.Base.Arm
	for _, v := range own.procs() {
		if v != "" && v != now.GOMAXPROCS && v != a.GOMAXPROCS {
			a.GOMAXPROCS = v
			break
		}
	}
	if a.GOGC = "400"; now.GOGC == a.GOGC {
		a.GOGC = "200"
	}
	if own.Memory > 0 {
		if v := own.bound(peakShare); !sameValue(v, now.GOMEMLIMIT) {
			a.GOMEMLIMIT = v
		}
	}
	return a
}

// override records which knobs a run had otherwise than it was asked to.
func (s *search) override(r *finding.Run) {
	if r.Effective == nil {
		return
	}
	asked, base := r.Arm.Knobs, s.in.Base.Knobs
	for k, v := range [...][3]string{
		procsKnob: {asked.GOMAXPROCS, r.Effective.GOMAXPROCS, base.GOMAXPROCS},
		gogcKnob:  {asked.GOGC, r.Effective.GOGC, base.GOGC},
		limitKnob: {asked.GOMEMLIMIT, r.Effective.GOMEMLIMIT, base.GOMEMLIMIT},
	} {
		if v[0] != v[2] && v[1] != "" && !sameValue(v[0], v[1]) {
			s.overridden[k] = fmt.Sprintf("%s where %s was set", v[1], v[0])
		}
	}
}

// sameValue reports whether two values of a knob are equal.
func sameValue(a, b string) bool {
	n, ok := plan.ParseGoBytes(a)
	m, ok2 := plan.ParseGoBytes(b)
	return a == b || ok && ok2 && n == m
}

// checkPace warns if the runs of the baseline cost something else than the long look at it, where
// that has no course: under an open loop.
func (s *search) checkPace() {
	own := s.medianOf(func(r *finding.Run) *float64 { return r.CPUPerOp })
	if s.long == nil || own == nil || len(s.tune.Warnings) > 0 || *own <= 0 || *s.long <= 0 {
		return
	}
	if off := *s.long / *own; math.Abs(math.Log(off)) > math.Log1p(changing) {
		s.warn(WarnWindow, "an operation of the baseline cost %s in one long window without a warm-up: "+
			"windows of %s s may still measure the start of a process; give it a longer --warmup, and more --budget",
			units.Change(off),
			strconv.FormatFloat(s.tune.Window, 'g', 3, 64))
	}
}
