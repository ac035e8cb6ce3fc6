// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug"
)

// goroutines returns the stacks of goroutines that snug has leaked.
func goroutines() (ours []string) {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "snug/internal/follow.") {
			ours = append(ours, g)
		}
	}
	return ours
}

// eventually waits until ok reports true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// watched returns hinted options with a short poll.
func watched() snug.WatchOptions {
	return snug.WatchOptions{Options: hinted, Poll: 10 * time.Millisecond}
}

// watch calls Watch with valid options.
func watch(t *testing.T, ctx context.Context, o snug.WatchOptions) *snug.Watcher {
	t.Helper()
	w, err := snug.Watch(ctx, o)
	if err != nil || w == nil {
		t.Fatalf("%v, %v", w, err)
	}
	return w
}

func TestWatchLeavesTheLastValues(t *testing.T) {
	knobs(t)
	ctx, cancel := context.WithCancel(context.Background())
	w := watch(t, ctx, watched())
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != 1 || m != hintedMemory {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d when Watch returns, want 1 and %d", n, m, hintedMemory)
	}
	eventually(t, "a look", func() bool { return w.Stats().Polls > 3 })
	if n := len(goroutines()); n != 1 {
		t.Errorf("%d goroutines, want one", n)
	}
	cancel()
	eventually(t, "the end", func() bool { return w.Stats().Ended && len(goroutines()) == 0 })
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != 1 || m != hintedMemory {
		t.Errorf("after the end GOMAXPROCS = %d, GOMEMLIMIT = %d, want the last values", n, m)
	}
	w.Undo()
	if m := debug.SetMemoryLimit(-1); m != math.MaxInt64 || runtime.GOMAXPROCS(0) == 1 {
		t.Errorf("after undo GOMAXPROCS = %d, GOMEMLIMIT = %d, want the first values", runtime.GOMAXPROCS(0), m)
	}
}

func TestWatchUndo(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	w := watch(t, context.Background(), watched())
	w.Undo()
	w.Undo()
	eventually(t, "the end", func() bool { return len(goroutines()) == 0 })
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}

func TestALaterWatchTakesOver(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	first := watch(t, context.Background(), watched())
	o := watched()
	o.MemoryLimit = 256 << 20
	second := watch(t, context.Background(), o)
	eventually(t, "the first to end", func() bool { return first.Stats().Ended && len(goroutines()) == 1 })
	first.Undo()
	if m := debug.SetMemoryLimit(-1); m != 256<<20-256<<20/10 {
		t.Errorf("GOMEMLIMIT = %d, want the second's", m)
	}
	second.Undo()
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}

func TestWatchGivesUpWhatTheProgramSets(t *testing.T) {
	knobs(t)
	plans := make(chan snug.Plan, 100)
	o := watched()
	o.OnPlan = func(p snug.Plan) { plans <- p }
	w := watch(t, context.Background(), o)
	defer w.Undo()
	if p := <-plans; p.GOMEMLIMIT.Action != snug.ActionSet {
		t.Errorf("the first plan %+v, want it set", p.GOMEMLIMIT)
	}
	eventually(t, "a look", func() bool { return w.Stats().Polls > 3 })
	debug.SetMemoryLimit(300 << 20)
	eventually(t, "given up", func() bool { return len(w.Stats().GivenUp) == 1 })
	if p := <-plans; p.GOMEMLIMIT.Action != snug.ActionLost || p.GOMEMLIMIT.Reason.Code != "program-set" {
		t.Errorf("the next plan %+v, want it lost to the program", p.GOMEMLIMIT)
	}
	if m := debug.SetMemoryLimit(-1); m != 300<<20 {
		t.Errorf("GOMEMLIMIT = %d, want the program's", m)
	}
}

func TestWatchSwitchedOff(t *testing.T) {
	for _, c := range []struct{ env, value string }{{"SNUG", "off"}, {"SNUG_WATCH", "0"}} {
		t.Run(c.env, func(t *testing.T) {
			knobs(t)
			t.Setenv(c.env, c.value)
			eventually(t, "the end of earlier ones", func() bool { return len(goroutines()) == 0 })
			w := watch(t, context.Background(), watched())
			defer w.Undo()
			if n := len(goroutines()); n != 0 || !w.Stats().Ended {
				t.Errorf("%d goroutines, ended %v; want nothing to follow", n, w.Stats().Ended)
			}
			if fitted := debug.SetMemoryLimit(-1) == hintedMemory; fitted != (c.env == "SNUG_WATCH") {
				t.Errorf("fitted %v", fitted)
			}
			if w.Plan().GOMEMLIMIT.Reason.Code == "" {
				t.Errorf("stats %+v, plan %+v", w.Stats(), w.Plan())
			}
		})
	}
}

// TestWatchGoesOnFromSnugRun: values that `snug run` has set do not count as the operator's.
func TestWatchGoesOnFromSnugRun(t *testing.T) {
	for _, c := range []struct {
		name, run string
		follows   bool
	}{
		{"snug run", "GOMAXPROCS=3,GOMEMLIMIT=300000000", true},
		{"the operator", "", false},
		{"the operator, above snug run", "GOMEMLIMIT=200000000", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			knobs(t)
			t.Setenv("GOMEMLIMIT", "300000000")
			t.Setenv("SNUG_RUN", c.run)
			debug.SetMemoryLimit(300000000) // as the runtime did at start
			w := watch(t, context.Background(), watched())
			defer w.Undo()
			p := w.Plan().GOMEMLIMIT
			if follows := p.Reason.Code != "env-set"; follows != c.follows || (debug.SetMemoryLimit(-1) == hintedMemory) != c.follows {
				t.Errorf("GOMEMLIMIT %+v, in force %d; want it followed: %v", p, debug.SetMemoryLimit(-1), c.follows)
			}
			w.Undo()
			if n := debug.SetMemoryLimit(-1); n != 300000000 {
				t.Errorf("after undo GOMEMLIMIT = %d, want what was there", n)
			}
		})
	}
}

func TestWatchVariables(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_WATCH", "perhaps")
	t.Setenv("SNUG_POLL", "10ms")
	w := watch(t, context.Background(), snug.WatchOptions{})
	defer w.Undo()
	var raw []string
	for _, warning := range w.Plan().Warnings {
		if warning.Code == "env-invalid" {
			raw = append(raw, warning.File+"="+warning.Raw)
		}
	}
	if len(raw) != 1 || raw[0] != "SNUG_WATCH=perhaps" {
		t.Errorf("warnings about %q, want SNUG_WATCH alone", raw)
	}
	if d := w.Stats().Interval; d != 10*time.Millisecond {
		t.Errorf("looks every %v, want 10ms", d)
	}
}

// auto is imported by a separate program, so that the test process stays unchanged.
func TestAutoFollows(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	exe := dir + "/program"
	build := exec.Command("go", "build", "-o", exe, "./testdata/following")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	test := dir + "/program.test"
	if err := os.Link(exe, test); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		exe, env string
		follows  bool
	}{
		{exe, "", true},
		{exe, "SNUG_WATCH=0", false},
		{exe, "SNUG=off", false},
		{exe, "SNUG=observe", true},
		{test, "", false},
		{test, "SNUG_WATCH=1", true},
	} {
		cmd := exec.Command(c.exe)
		cmd.Env = append(os.Environ(), c.env)
		out, err := cmd.CombinedOutput()
		if follows := strings.TrimSpace(string(out)) == "follows"; err != nil || follows != c.follows {
			t.Errorf("%s with %q: %v, %q; want follows = %v", c.exe[len(dir):], c.env, err, out, c.follows)
		}
	}
}

// Importing adapt beside auto has the effect of importing adapt alone.
func TestAdaptTakesOverFromAuto(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	exe := t.TempDir() + "/program"
	if out, err := exec.Command("go", "build", "-o", exe, "./testdata/adapting").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const ignored = " is invalid, and is ignored\n"
	for _, c := range []struct{ env, says string }{
		{"SNUG_ADAPT=memory", ""},
		{"SNUG=observe", ""},
		{"SNUG_POLL=x", "snug: SNUG_POLL=x" + ignored},
		{"SNUG_ADAPT=memroy", "snug: SNUG_ADAPT=memroy" + ignored},
		{"SNUG_TOKEN=hunter2", "snug: SNUG_TOKEN is not a variable of snug, and is ignored\n"},
	} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), c.env)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.says+"adapts\n" {
			t.Errorf("with %s: %v, %q", c.env, err, out)
		}
	}
}

// SNUG_ADAPT without package adapt prints one line, whichever package fits the program.
func TestUnadapted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+"/", "./testdata/staying", "./testdata/fitting").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, program := range [][]string{{"staying"}, {"fitting", "Fit"}, {"fitting", "Watch"}} {
		for env, want := range map[string]string{
			"SNUG_ADAPT=memory": "snug: ignored without import _ \"github.com/snug-go/snug/adapt/auto\" or adapt.Watch: SNUG_ADAPT=memory\n",
			"SNUG_ADAPT=none":   "",
			"SNUG_ADAPT=0":      "",
		} {
			t.Run(strings.Join(program, "-")+"/"+env, func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(dir+"/"+program[0], program[1:]...)
				// The line appears after a second: by then the import of adapt/auto has taken over.
				cmd.Env = append(os.Environ(), env, "SNUG_POLL=500ms")
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
					t.Errorf("%v, %q; want %q", err, out, want)
				}
			})
		}
	}
}
