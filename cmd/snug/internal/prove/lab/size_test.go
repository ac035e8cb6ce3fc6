// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/search"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

// servant is a server that needs CPU and memory, and is slow with less.
type servant struct {
	cores, memory float64
	watch         func()
	runs          map[size.Container]int
	change        func(c size.Container, n int, r *finding.Run)
	fail          func(c size.Container, n int) error
}

func (s *servant) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	c := size.Container{Cores: t.Arm.Quota, Memory: float64(t.Arm.Memory)}
	s.runs[c]++
	if s.watch != nil {
		s.watch()
		s.watch = nil
	}
	if err := ctx.Err(); err != nil {
		return finding.Run{}, err
	}
	if s.fail != nil {
		if err := s.fail(c, s.runs[c]); err != nil {
			return finding.Run{}, err
		}
	}
	p99, rps, rate := 0.005, t.Rate, t.Rate
	run := finding.Run{Window: 10, Ops: int64(10 * rate), RPS: &rps, Offered: &rate, P99: &p99}
	if c.Cores < s.cores {
		p99 = 0.2
	}
	if c.Memory < s.memory {
		run.OOMKills = new(uint64(1))
	}
	if s.change != nil {
		s.change(c, s.runs[c], &run)
	}
	return run, nil
}

const mib = 1 << 20

// sized runs a search for a played server; the watch predicts 1 core and 100 MiB, and least 0.2 and 60 MiB.
func sized(t *testing.T, s *servant) (*finding.Size, error) {
	t.Helper()
	s.runs = map[size.Container]int{}
	l := &Size{Lab: Lab{Talk: &said{}, Cmd: []string{"./server"}, URLs: []string{"http://127.0.0.1:1/"}, runner: &runner.Runner{}, rounds: 3, seed: 1, window: 10 * time.Second},
		Price: size.Fargate, For: 30 * time.Second, load: "300/s", bound: "p99 < 50ms"}
	l.choice.goVersion = plan.Go{Minor: 26}
	l.machine.CPUs = 4
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	value := func(n, least float64) finding.SizeValue { return finding.SizeValue{Value: &n, Least: &least} }
	l.Watch = func(context.Context, int, time.Duration, size.Price) (*finding.Size, error) {
		return &finding.Size{Head: finding.NewHead(finding.KindSize), CPULimit: value(1, 0.2), Memory: value(100*mib, 60*mib),
			Seen: finding.SizeSeen{Live: figure.New(20.0*mib, ""), Rest: figure.New(4.0*mib, "")}, Curve: []finding.SizePoint{}}, nil
	}
	x := &sizing{Size: l, first: s, runner: search.Tolerant{Runner: s, Proven: new(true)}, started: time.Now(), say: func(text func(time.Duration) string) {
		if text(0) == "" {
			t.Error("no progress")
		}
	}}
	s.watch = func() { l.runner.Watch(t.Context(), 1) }
	d, err := x.watch(t.Context(), size.Container{Cores: 4, Memory: 4096 * mib})
	if err == nil {
		err = x.find(t.Context())
	}
	if d != nil {
		x.answer(d, err == nil)
	}
	return d, err
}

func TestSized(t *testing.T) {
	d, err := sized(t, &servant{cores: 0.3, memory: 50 * mib})
	if err != nil {
		t.Fatal(err)
	}
	f := d.Search
	if !f.Shown || *d.CPULimit.Value != 0.3 || *d.CPURequest.Value != 0.3 || !(*d.Memory.Value >= 50*mib && *d.Memory.Value < 60*mib) || d.GOMAXPROCS.Value == nil {
		t.Errorf("%v, %v (%s)", d.CPULimit, d.Memory, words(d.Memory.Why))
	}
	a := f.Tried[*f.Answer]
	if a.Fresh == nil || a.Fresh.Kept != 3 || a.Fresh.Of != 3 || !(a.Fresh.Ratio.Low > 0.25 && a.Fresh.Ratio.Low < 0.3) || a.Kept != 1 || a.Of != 1 || len(a.Runs) != 4 || a.Runs[3].Round < 1 || a.Broken != nil || *a.Worst != 0.005 {
		t.Errorf("%+v", a)
	}
	b := f.Tried[*f.Cheaper]
	if b.Price >= a.Price || b.Broken == nil || b.Fresh == nil || b.Fresh.Kept != 0 || b.Fresh.Of != 3 {
		t.Errorf("%+v", b)
	}
	if f.Untried != 0 || !f.Setup.Complete || *f.Rate != 300 || f.Metric != "p99_seconds" || f.Bound != "p99<50ms" || d.Target != "./server" || len(f.Tried) > sizeTries+1 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(words(d.Memory.Why), "p99<50ms at 300/s in 3 of 3 fresh runs") || !strings.Contains(words(d.Unseen...), "3 of 3 say at least 29.2 %") {
		t.Errorf("%s, %s", words(d.Memory.Why), words(d.Unseen...))
	}
}

// TestSizedRefuted: an answer that fresh runs refute is replaced by the next one, and after the second there is none.
func TestSizedRefuted(t *testing.T) {
	s := &servant{cores: 0.3, memory: 50 * mib}
	unlucky := func(below float64) func(size.Container, int, *finding.Run) {
		return func(c size.Container, n int, r *finding.Run) {
			if n == 3 && c.Memory < below {
				*r.P99 = 0.3
			}
		}
	}
	s.change = unlucky(60 * mib)
	d, err := sized(t, s)
	if err != nil || !d.Search.Shown || *d.CPULimit.Value != 0.3 || *d.Memory.Value != 60*mib || !strings.Contains(words(d.Unseen...), "3 of 3 say at least 23.2 %, with 95 % confidence, less because fresh runs refuted 1 answer before") {
		t.Fatalf("%v, %+v", err, d.CPULimit)
	}
	s.change = unlucky(8192 * mib)
	d, err = sized(t, s)
	if err != nil || d.Search.Shown || d.Search.Answer != nil || d.Memory.Value != nil || !strings.Contains(words(d.Memory.Why), "not shown: no container kept p99<50ms at 300/s in all of its fresh runs") {
		t.Errorf("%v, %+v", err, d.Memory)
	}
}

// TestSizedCheaperHolds: what broke the bound once and keeps it in all fresh runs is said to be in doubt.
func TestSizedCheaperHolds(t *testing.T) {
	s := &servant{cores: 0.3, memory: 50 * mib, change: func(c size.Container, n int, r *finding.Run) {
		if n > 1 {
			r.OOMKills = nil
		}
	}}
	d, err := sized(t, s)
	if err != nil || !d.Search.Shown || *d.CPULimit.Value != 0.3 || !strings.Contains(words(d.Unseen...), "is too little: it kept it in 3 of 3 fresh runs") {
		t.Errorf("%v, %+v, %s", err, d.CPULimit, words(d.Unseen...))
	}
}

// TestSizedImpossible: where not even the roomiest container does, one line says what was reached in it.
func TestSizedImpossible(t *testing.T) {
	for want, s := range map[string]*servant{
		"not even 4 CPUs and 4 GiB keep p99<50ms at 300/s: P99 200 ms": {cores: 8},
		"300/s: OOM-killed":              {memory: 8192 * mib},
		"300/s: served 100/s":            {change: func(_ size.Container, _ int, r *finding.Run) { *r.RPS = 100 }},
		"1 of 3001 requests failed: EOF": {change: func(_ size.Container, _ int, r *finding.Run) { r.Errors, r.Error = 1, "EOF" }},
		"no run counts at 300/s: l":      {change: func(_ size.Container, _ int, r *finding.Run) { r.Invalid = "late" }},
		"--slo 'p99<50ms': not measured": {change: func(_ size.Container, _ int, r *finding.Run) { r.P99 = nil }},
		"ended before it listened":       {fail: func(size.Container, int) error { return &runner.TargetError{What: "ended before it listened"} }},
	} {
		d, err := sized(t, s)
		if d != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, d, err)
		}
		if f, ok := err.(*message.Failure); ok && f.Hint == "" {
			t.Errorf("%s: no hint", want)
		}
	}
}

// TestSizedUncounted: runs that do not count say nothing of a container, neither in the search nor in the confirmation.
func TestSizedUncounted(t *testing.T) {
	for from, want := range map[int]string{1: "not shown: 0 of 1 run count in 1 CPU and 100 MiB: late", 2: "not shown: 0 of 3 runs count in 0.3 CPUs and "} {
		d, err := sized(t, &servant{cores: 0.3, memory: 50 * mib, change: func(c size.Container, n int, r *finding.Run) {
			if c.Cores < 4 && n >= from {
				r.Invalid = "late"
			}
		}})
		if err != nil || d.Search.Shown || d.Memory.Value != nil || !strings.Contains(words(d.Memory.Why), want) || !strings.HasSuffix(words(d.Memory.Why), ": late\n") {
			t.Errorf("from run %d: %v, %+v", from, err, d.Memory)
		}
	}
}

// TestSizedProcs: the answer has the GOMAXPROCS that ran, also where it is the roomiest container.
func TestSizedProcs(t *testing.T) {
	d, err := sized(t, &servant{cores: 4, memory: 4096 * mib})
	if err != nil || !d.Search.Shown || *d.Search.Answer != 0 {
		t.Fatalf("%v, %+v", err, d)
	}
	ran := d.Search.Tried[0].GOMAXPROCS
	if written := d.GOMAXPROCS.Value; (ran == nil) != d.ByGo || ran != nil && *written != *ran {
		t.Errorf("%v ran, %+v, by Go %v", ran, d.GOMAXPROCS, d.ByGo)
	}
	for _, byGo := range []bool{false, true} {
		x := &sizing{Size: &Size{}, tried: []finding.SizeTrial{{Fresh: &finding.SizeFresh{Kept: 3, Of: 3}}}, at: []size.Container{{Cores: 1.5, Memory: 4096 * mib}}}
		x.choice.goVersion, x.machine.CPUs = plan.Go{Minor: 26, Blind: !byGo}, 4
		x.seen = &finding.Size{}
		x.search = size.NewSearch(size.Fargate, x.at[0], x.seen)
		if byGo {
			x.tried[0].GOMAXPROCS = new(3.0)
		}
		d := &finding.Size{Search: &finding.SizeSearch{}}
		if x.values(d, x.at[0]); d.ByGo == byGo || byGo && *d.GOMAXPROCS.Value != 3 || !byGo && d.GOMAXPROCS.Value != nil {
			t.Errorf("%+v, by Go %v", d.GOMAXPROCS, d.ByGo)
		}
	}
}

// TestSizedWatchFails: the error of the second run of the roomiest container is the error.
func TestSizedWatchFails(t *testing.T) {
	_, err := sized(t, &servant{cores: 8, fail: func(_ size.Container, n int) error {
		if n == 2 {
			return &runner.TargetError{What: "ended before it listened"}
		}
		return nil
	}})
	if err == nil || !strings.Contains(err.Error(), "ended before it listened") {
		t.Error(err)
	}
}

// TestSizedTargetFails: a program that does not start in a small container does not keep its bound there.
func TestSizedTargetFails(t *testing.T) {
	d, err := sized(t, &servant{cores: 0.1, memory: 1, fail: func(c size.Container, _ int) error {
		if c.Memory < 70*mib {
			return &runner.TargetError{What: "it said: out of memory"}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Search.Shown || *d.Memory.Value < 70*mib || d.Search.Tried[*d.Search.Cheaper].Broken.Code != finding.BrokeNothing {
		t.Errorf("%v, %+v", err, d)
	}
}

// TestSizeRefuses: flags that cannot be used are refused with a cure.
func TestSizeRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"--url http://127.0.0.1:1/ --rate 3":                                                "no command",
		"--rate 3 -- ./server":                                                              "no address",
		"--url http://127.0.0.1:1/ -- ./server":                                             "no rate",
		"--url http://127.0.0.1:1/ --rate 3 --slo q<5 -- ./server":                          `unknown figure, "q"`,
		"--url http://127.0.0.1:1/ --rate 3 --slo p99>5ms -- ./server":                      "wrong comparison",
		"--url http://127.0.0.1:1/ --rate 3 --slo wall<5s -- ./server":                      "only a command that ends",
		"--url tcp://127.0.0.1:1 --rate 3 -- ./server":                                      "neither http nor https",
		"--url http://127.0.0.1:1/ --load-cmd ./load.sh --method POST --rate 3 -- ./server": "its own requests",
	} {
		s := &Size{}
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.Add(fs)
		if err := fs.Parse(strings.Fields(line)); err != nil {
			t.Fatal(line, err)
		}
		s.Cmd = fs.Args()
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// words returns reasons as they are printed.
func words(of ...finding.Why) string {
	all := ""
	for i := range of {
		all += content.Reason(&of[i]) + "\n"
	}
	return all
}
