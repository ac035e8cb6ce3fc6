// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// paced is a program whose runs take as long as they are told to. A request takes p50 seconds,
// and costs twice as much in the first seconds.
type paced struct {
	*world
	p50, starts  float64
	sets         string // the GOGC that the program sets; "" is none
	warm, window time.Duration
	slices       int
}

func (p *paced) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	run, err := p.world.Run(ctx, t)
	run.Took, run.P50 = (p.warm + p.window).Seconds(), &p.p50
	run.Window = p.window.Seconds()
	if p.slices > 0 {
		run.Timeline = &finding.Timeline{Step: run.Window / float64(p.slices)}
		for i := range p.slices {
			cpu := 1.0
			if float64(i)*run.Timeline.Step < p.starts {
				cpu = 2
			}
			run.Timeline.RPS, run.Timeline.CPU = append(run.Timeline.RPS, 100), append(run.Timeline.CPU, &cpu)
		}
		k := t.Arm.Knobs
		if k.GOMAXPROCS == "" {
			k.GOMAXPROCS = "8"
		}
		if k.GOGC = p.sets; k.GOGC == "" {
			k.GOGC = t.Arm.GOGC
		}
		run.Effective = &k
	}
	return run, err
}

func TestPace(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name         string
		p            paced
		budget       time.Duration
		fixed        bool
		warm, window time.Duration
		text         string // of the error, or a warning
	}{
		{"nothing special", paced{p50: 0.02}, 5 * time.Minute, false, second, second, ""},
		{"long requests", paced{p50: 0.62}, 15 * time.Minute, false, second, 6200 * time.Millisecond, ""},
		{"too long for the budget", paced{p50: 1.2}, 3 * time.Minute, false, 0, 0, "a budget of 3m is too small even to confirm one setting: a window must hold 10 median latencies of 1.20 s"},
		{"too long for the window that was asked for", paced{p50: 1.2}, 15 * time.Minute, true, 0, 0, "a window of 1s is too short: a window must hold 10"},
		{"a slow start", paced{p50: 0.02, starts: 5}, 5 * time.Minute, false, 5 * second, second, ""},
		{"a start that is too slow", paced{p50: 0.02, starts: 4}, time.Minute, false, second, second, "windows begin 1 s after the start of a process, while"},
		{"a warm-up that is too short", paced{p50: 0.02, starts: 5}, 15 * time.Minute, true, second, second, "give it --warmup 5 s"},
		{"it never settles", paced{p50: 0.02, starts: 16}, 15 * time.Minute, false, 10 * second, second, "while the cost of a request still changes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, "cpu")
			in.Budget, in.PerRun = c.budget, 2*second
			p := &c.p
			p.world = newWorld(0.02, 1, gogcHelps)
			in.Pace = &Pace{Warm: second, Window: second, FixedWarm: c.fixed, FixedWindow: c.fixed, Set: func(warm, window time.Duration, slices int) {
				p.warm, p.window, p.slices = warm, window, slices
			}}
			out, err := Run(t.Context(), in, p)
			if err != nil {
				if c.text == "" || !strings.Contains(err.Error(), c.text) {
					t.Errorf("error %v, want %q", err, c.text)
				}
				return
			}
			if p.warm != c.warm || p.window != c.window || out.Window != c.window.Seconds() || out.WarmUp != c.warm.Seconds() {
				t.Errorf("warm-up %s, window %s; want %s, %s; told %v, %v", p.warm, p.window, c.warm, c.window, out.WarmUp, out.Window)
			}
			if out.Stages[0].Name != "pace" || out.Stages[0].Runs != 2 {
				t.Errorf("first stage %+v", out.Stages[0])
			}
			said := ""
			for _, w := range out.Warnings {
				if w.Code == WarnWindow {
					said = w.Text
				}
			}
			if (said == "") != (c.text == "") || !strings.Contains(said, c.text) {
				t.Errorf("warning %q, want %q", said, c.text)
			}
		})
	}
}

// TestOverriddenKnobIsNotSearched: what the program sets itself is said.
func TestOverriddenKnobIsNotSearched(t *testing.T) {
	in := input(t, "cpu")
	in.Budget, in.PerRun = 5*time.Minute, 2*time.Second
	p := &paced{p50: 0.02, sets: "50", world: newWorld(0.02, 1, gogcHelps)}
	in.Pace = &Pace{Warm: time.Second, Window: time.Second, Set: func(warm, window time.Duration, slices int) {
		p.warm, p.window, p.slices = warm, window, slices
	}}
	out, err := Run(t.Context(), in, p)
	if err != nil {
		t.Fatal(err)
	}
	if got := values(out.Space, "GOGC"); got != "" {
		t.Errorf("GOGC is tried at %s", got)
	}
	if got := values(out.Space, "GOMAXPROCS"); got != ",1,4,8" {
		t.Errorf("GOMAXPROCS is tried at %s", got)
	}
	if why := whyPruned(out.Pruned, "GOGC"); why != "the program sets it itself: 50 where 400 was set" {
		t.Errorf("GOGC is left out because %q", why)
	}
}
