// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/gotest"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
)

// benchmarks reports whether the command runs Go benchmarks.
func (l *Lab) benchmarks() bool { return len(l.URLs) == 0 && gotest.KindOf(l.Cmd) != gotest.None }

// Benchmarks reports whether the command runs Go benchmarks.
func (b *Bench) Benchmarks() bool { return b.benchmarks() }

// commandLoad returns the load of a command that is not a service.
func (l *Lab) commandLoad() string {
	if l.benchmarks() {
		return experiment.LoadBenchmark
	}
	return runner.LoadBatch
}

// checkBenchmarks rejects flags that have no meaning for Go benchmarks.
func (l *Lab) checkBenchmarks() error {
	if !l.benchmarks() {
		return nil
	}
	switch {
	case gotest.Has(l.Cmd, "cpu"):
		return message.Usage(message.Quote(strings.Join(l.Cmd, " "))+": -cpu sets GOMAXPROCS by itself",
			"leave it out, and compare values of GOMAXPROCS: --gomaxprocs 1,2,4")
	case gotest.KindOf(l.Cmd) == gotest.GoTest && gotest.Has(l.Cmd, "exec"):
		return message.Usage("-exec: snug starts the test program itself", "leave it out")
	case len(l.Metrics) > 0:
		return message.Usage("--metric: Go benchmarks have their own figures", "leave it out: all that they print are shown")
	case l.objective != "" && l.objective != experiment.Auto && l.objective != experiment.None:
		return message.Usage("--objective "+l.objective+": Go benchmarks are compared in ns/op",
			"leave it out; every other unit that they print is compared too")
	}
	return nil
}

// build sets the program of the runs. It builds that of go test first, so that no run
// compiles.
func (l *Lab) build(self string) error {
	if !l.benchmarks() {
		return nil
	}
	args := l.Cmd
	note := ""
	if gotest.KindOf(args) == gotest.GoTest {
		dir, err := os.MkdirTemp("", "snug-go-test-")
		if err != nil {
			return message.Failed("cannot build: "+message.Reason(err),
				"TMPDIR names a directory with room for the test program")
		}
		l.scratch = dir
		l.Talk.Status("go test builds")
		ctx, _ := l.interruptible()
		b, err := gotest.Build(ctx, self, args, dir, os.Stderr)
		l.Talk.Status("")
		if err != nil {
			if e, ok := errors.AsType[*gotest.BuildError](err); ok {
				return message.Failed(e.What, e.Cure)
			}
			return l.explain(ctx, err)
		}
		args, l.runner.Dir, l.runner.Env = b.Args, b.Dir, b.Env
		note = "go test built " + filepath.Base(args[0]) + " outside of the container, and every run starts that in " + b.Dir
	}
	args, left := gotest.WithoutTests(args)
	if left {
		if note != "" {
			note += "; "
		}
		note += "tests are left out (-run '^$')"
	}
	if note != "" {
		l.Talk.Note("note: %s", note)
	}
	l.runner.Command = args
	return nil
}

// clean removes what build kept.
func (l *Lab) clean() {
	if l.scratch != "" {
		os.RemoveAll(l.scratch)
	}
}
