// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// gotestsum runs `go test -json`, prints the output of plain `go test` and keeps the events.
const gotestsum = "gotest.tools/gotestsum@v1.13.0"

// prelude defines the functions of all scripts.
//
//	gotest ARG...    runs go test ARG... and counts passed and skipped tests
//	lab              makes the tests that follow use the API server that stages share, see
//	                 e2e/cluster/lab. The first call starts it. It ends with this program,
//	                 which holds the other end of descriptor 3.
const prelude = `gotest() {
  "$CI_DIR/bin/gotestsum" --format standard-quiet --format-hide-empty-pkg --hide-summary skipped --jsonfile "$(mktemp "$CI_STAGE/XXXXXX.json")" -- "$@"
}
lab() {
  export SNUG_LAB="$CI_DIR/lab.json"
  (
    flock 9
    [ -e "$SNUG_LAB" ] && exit
    setsid go run ./e2e/cluster/lab -to "$SNUG_LAB" <&3 >"$CI_DIR/lab.log" 2>&1 9>&- &
    until [ -e "$SNUG_LAB" ]; do
      kill -0 $! 2>/dev/null || { cat "$CI_DIR/lab.log"; exit 1; }
      sleep 0.2
    done
  ) 9>"$CI_DIR/lab.lock"
}
`

// outcome is the result of running a stage.
type outcome struct {
	stage
	took, cpu time.Duration
	tests     int // number that passed, without subtests
	skipped   []string
	err       error
}

// runner runs stages of a checkout.
type runner struct {
	root string // of the checkout
	dir  string // shared by stages and removed at the end: CI_DIR
	out  io.Writer
	last results
	mu   sync.Mutex // guards out

	ends, ended *os.File // a pipe; processes that scripts leave behind end when it is closed
}

func newRunner(ctx context.Context, root string, out io.Writer, last results) (*runner, error) {
	dir, err := os.MkdirTemp("", "snug-ci-")
	if err != nil {
		return nil, err
	}
	r := &runner{root: root, dir: dir, out: out, last: last}
	if r.ended, r.ends, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "install", gotestsum)
	cmd.Env = append(os.Environ(), "GOBIN="+filepath.Join(dir, "bin"))
	if text, err := cmd.CombinedOutput(); err != nil {
		r.close()
		return nil, fmt.Errorf("install %s: %w\n%s", gotestsum, err, text)
	}
	return r, nil
}

// close ends what stages left running and removes their files.
func (r *runner) close() {
	r.ends.Close()
	r.ended.Close()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, "lab.json")); err != nil {
			break
		}
	}
	os.RemoveAll(r.dir)
}

// all runs stages in the order of the table, side by side if there are enough CPUs. It calls tried
// with the outcome of each stage, except of stages that ctx interrupted.
func (r *runner) all(ctx context.Context, chosen []stage, tried func(outcome)) []outcome {
	outcomes := make([]outcome, len(chosen))
	state := make([]progress, len(chosen))
	done := make(chan int)
	for running := 0; ; {
		for i := range chosen {
			if ctx.Err() == nil && mayStart(chosen, state, i) {
				state[i] = runs
				running++
				go func() {
					outcomes[i] = r.one(ctx, chosen[i], len(chosen) == 1)
					done <- i
				}()
			}
		}
		if running == 0 {
			break
		}
		i := <-done
		state[i] = ended
		running--
		if outcomes[i].err == nil || ctx.Err() == nil {
			tried(outcomes[i])
		}
	}
	for i, s := range chosen {
		if state[i] == waits {
			outcomes[i] = outcome{stage: s, err: ctx.Err()}
		}
	}
	return outcomes
}

type progress int

const (
	waits progress = iota
	runs
	ended
)

// mayStart reports whether stage i may start now: the stages in its after have ended, and enough
// CPUs are free.
func mayStart(chosen []stage, state []progress, i int) bool {
	if state[i] != waits {
		return false
	}
	busy := 0
	for j, s := range chosen {
		if state[j] != ended && slices.Contains(chosen[i].after, s.name) {
			return false
		}
		if state[j] == runs {
			busy += s.cpus
		}
	}
	return busy == 0 || busy+chosen[i].cpus <= 2
}

// one runs a stage. It prints the output when the stage has ended, so that the outputs of parallel
// stages do not mix; live prints it at once.
func (r *runner) one(ctx context.Context, s stage, live bool) outcome {
	r.say("== %s, usually %v", s.name, expected(s, r.last))
	o := outcome{stage: s}
	dir := filepath.Join(r.dir, s.name)
	if o.err = os.MkdirAll(dir, 0o755); o.err != nil {
		return o
	}
	begin := time.Now()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", prelude+s.script)
	cmd.Dir = r.root
	cmd.Env = append(plain(os.Environ()), "CI_DIR="+r.dir, "CI_STAGE="+dir, "CI_TESTS="+strings.Join(s.tests, " "), "SNUG_E2E="+s.words, "GOFLAGS=-buildvcs=false")
	cmd.ExtraFiles = []*os.File{r.ended}
	// Cancel also ends the processes that a script started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var said strings.Builder
	cmd.Stdout = &said
	if live {
		cmd.Stdout = r.out
	}
	cmd.Stderr = cmd.Stdout
	o.err = cmd.Run()
	o.took = time.Since(begin)
	if p := cmd.ProcessState; p != nil {
		o.cpu = p.UserTime() + p.SystemTime()
	}
	var err error
	if o.tests, o.skipped, err = count(dir); o.err == nil {
		o.err = err
	}
	if o.err == nil && o.tests == 0 && strings.Contains(s.script, "gotest ") {
		o.err = errors.New("no test has passed")
	}
	verdict := "passed"
	if o.err != nil {
		verdict = "FAILED: " + o.err.Error()
	}
	r.say("%s== %s %s after %v", said.String(), s.name, verdict, o.took.Round(time.Second))
	return o
}

// plain returns the environment without variables that would affect the tested programs, or the cd
// and git commands of a script.
func plain(environ []string) []string {
	return slices.DeleteFunc(environ, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "SNUG") && name != "SNUG_LAB" || slices.Contains([]string{
			"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "CDPATH", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}, name)
	})
}

func (r *runner) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

// count reads the events of `go test -json` from the files of a stage.
func count(dir string) (passed int, skipped []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return 0, nil, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, nil, err
		}
		for line := range bytes.Lines(text) {
			var e struct{ Action, Package, Test string }
			if err := json.Unmarshal(line, &e); err != nil {
				return 0, nil, fmt.Errorf("%s: %w", name, err)
			}
			if e.Action == "pass" && e.Test != "" && !strings.Contains(e.Test, "/") {
				passed++
			}
			if test := path.Base(e.Package) + "." + e.Test; e.Action == "skip" && e.Test != "" && !slices.Contains(skipped, test) {
				skipped = append(skipped, test)
			}
		}
	}
	slices.Sort(skipped)
	return passed, skipped, nil
}

// table formats the time that each stage took.
func table(outcomes []outcome, last results, total time.Duration) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tseconds\tCPU s\tlast\ttests\tskipped\t")
	var cpu time.Duration
	for _, o := range outcomes {
		verdict := ""
		if o.err != nil {
			verdict = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%d\t%d\t%s\n", o.name, o.took.Seconds(), o.cpu.Seconds(), expected(o.stage, last).Seconds(), o.tests, len(o.skipped), verdict)
		cpu += o.cpu
	}
	fmt.Fprintf(w, "all\t%.0f\t%.0f\t\t\t\t\n", total.Seconds(), cpu.Seconds())
	w.Flush()
	return b.String()
}

// caches describes how much this machine has cached.
func caches(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return "Go's build cache is unknown"
	}
	kept, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "??", "*-d"))
	return fmt.Sprintf("%d files in Go's build cache, %d CPUs", len(kept), runtime.NumCPU())
}
