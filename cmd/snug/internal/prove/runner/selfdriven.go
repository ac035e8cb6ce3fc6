// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// self runs a built-in workload that drives itself.
func (r *Runner) self(ctx context.Context, t experiment.Trial, run *finding.Run) (err error) {
	o := workload.Options{Warm: r.WarmUp, Window: r.Window}
	if r.Exec {
		dir, err := os.MkdirTemp("", "snug-trace-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.Trace = filepath.Join(dir, "trace")
	}
	args := workload.Args(t.Arm.Workload, o)
	p, err := r.start(ctx, t.Arm, launch{
		args: append([]string{r.Self}, args...), protocol: true, trace: true,
		env: environment(r.base(), t.Arm.Knobs, true, true),
	})
	if err != nil {
		return err
	}
	defer p.cleanUp(&err)
	run.Confined = p.confinement()

	stop := context.AfterFunc(ctx, func() { p.stdout.Close() }) // unblocks ReadEvents
	defer stop()
	events := workload.ReadEvents(p.stdout)
	warm, err := events.Next("warm")
	if err != nil {
		return p.died(ctx, run, "in its warm-up", err)
	}
	pause(ctx, settle)
	a := readCounters(p)
	if _, err := io.WriteString(p.stdin, "go\n"); err != nil {
		return p.died(ctx, run, "before the window", err)
	}
	done, err := events.Next("done")
	if err != nil {
		return p.died(ctx, run, "in the window", err)
	}
	res := done.Result
	b := readCounters(p)
	run.Window, run.Ops = res.Seconds, res.Ops
	if workload.IsBatch(t.Arm.Workload) {
		run.Wall = &res.Seconds
	} else if res.Seconds > 0 && res.Probe == nil { // a probe has no operations
		run.RPS = new(float64(res.Ops) / res.Seconds)
	}
	run.P50, run.P95, run.P99, run.Max = res.P50, res.P95, res.P99, res.Max
	run.Latency = res.Latency
	run.Note, run.Counts = res.Note, res.Counts
	account(run, a, b, new(0.0))
	run.Procs = &warm.Procs
	traced(run, a.trace, b.trace)
	if res.Probe != nil {
		run.Stall = stall(*res.Probe, t.Arm.Quota, run.Confined.PeriodMicros)
	}
	run.Exit = p.stop(ctx)
	run.MaxRSS = p.rss()
	if o.Trace != "" {
		run.Reported, err = readTrace(ctx, o.Trace)
	}
	return err
}

// batch runs a user's command to its end.
func (r *Runner) batch(ctx context.Context, t experiment.Trial, run *finding.Run) (err error) {
	// A benchmark gets no GC trace: to print its lines would be part of the time measured.
	benchmarks := t.Arm.Load == experiment.LoadBenchmark
	l := launch{args: r.Command, trace: r.Trace && !benchmarks, benchmarks: benchmarks}
	l.env = environment(r.base(), t.Arm.Knobs, l.trace, false)
	before := readMachine()
	p, err := r.start(ctx, t.Arm, l)
	if err != nil {
		return err
	}
	defer p.cleanUp(&err)
	run.Confined = p.confinement()
	if r.Long != nil && !benchmarks {
		long := time.AfterFunc(LongRun, r.Long)
		defer long.Stop()
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.err.wait() // for its last output
	p.out.wait()
	if !benchmarks {
		run.Reported = p.out.reported()
	}
	wall := p.over.Sub(p.began).Seconds()
	run.Window, run.Wall, run.Ops = wall, &wall, 1
	after := readCounters(p)
	zero := counters{machine: before, usage: p.child.AtStart, trace: new(workload.Traced)}
	account(run, zero, after, new(0.0))
	traced(run, zero.trace, after.trace)
	run.MaxRSS = p.rss()
	if run.CPU == nil || r.Own || r.NoLimit {
		run.CPU = new((p.exit.UserTime + p.exit.SystemTime).Seconds())
		perOp(run)
	}
	if p.oomKilled() {
		run.Exit, run.Errors, run.Ops = killed(t.Arm), 1, 0
		run.Error, run.Wall, run.CPUPerOp = run.Exit, nil, nil
		return nil
	}
	if p.exit.Code != 0 {
		e := p.crashed(ctx, "with a failure")
		if te, ok := e.(*TargetError); ok {
			te.Cure = "a command that fails cannot be compared: run it by hand first; a service needs --url"
			if benchmarks {
				te.Cure = "a benchmark that fails cannot be compared: run it by hand first, with " + metric.SettingText(t.Arm)
			}
		}
		return e
	}
	if benchmarks {
		return r.benchmarked(run, p)
	}
	return nil
}

// benchmarked fills in what the benchmarks of a run printed. Package testing runs each for
// a time, so the duration and the CPU time of the run say nothing.
func (r *Runner) benchmarked(run *finding.Run, p *process) error {
	run.Wall, run.CPUPerOp = nil, nil
	procs, _ := strconv.Atoi(run.Arm.GOMAXPROCS)
	res := p.out.results(procs)
	if len(res.Figures) == 0 {
		e := &TargetError{p.name + " printed no result of a benchmark", "-bench takes a regular expression that must " +
			"match a name; list them: go test -list Benchmark, or PROGRAM -test.list Benchmark"}
		if res.Broken > 0 {
			e.What += "; a line that begins like one: " + shorter(res.First)
			e.Cure = "package testing prints a result on the line of its name: the benchmark must not print to standard output"
		}
		return e
	}
	for _, f := range res.Figures {
		run.Benchmarks = append(run.Benchmarks, finding.BenchFigure{Benchmark: f.Benchmark, Unit: f.Unit, Value: f.Value})
	}
	if res.Procs > 0 {
		run.Procs = &res.Procs
	}
	if res.Broken > 0 {
		run.Note = fmt.Sprintf("%d lines of results could not be read, because the benchmark printed in between: %s",
			res.Broken, shorter(res.First))
	}
	return nil
}
