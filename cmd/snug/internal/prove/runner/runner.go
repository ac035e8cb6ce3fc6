// SPDX-License-Identifier: Apache-2.0

// Package runner does one run of an experiment: it starts a fresh process in a fresh
// cgroup, loads it, reads its counters and removes it. It joins cgrun, load and workload.
package runner

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Connections is the number of users of a saturating closed loop.
const Connections = 32

// settle is the pause between warm-up and window, in which queues drain and a throttled
// group gets its quota back.
const settle = 150 * time.Millisecond

// LongRun is the time after which a batch command may be a service.
const LongRun = 10 * time.Second

// A Runner does the runs of one experiment, one at a time. It implements
// experiment.Runner.
type Runner struct {
	Self string // snug's own executable: built-in workloads and the load generator

	// Command is the program to measure, with its arguments; nil for a built-in workload
	// and for a service that already runs.
	Command []string
	Dir     string   // its working directory; "" is the current one
	Env     []string // its environment before the knobs; nil is this process's

	// Request is what to send to a service: URLs, method, body.
	Request load.Plan
	// Ready is how long a service may take until it listens.
	Ready time.Duration

	WarmUp time.Duration // discarded
	Window time.Duration // measured
	Probe  time.Duration // of the stall probe of built-in workloads; 0 is none

	RealTime bool // the load generator becomes SCHED_FIFO
	Own      bool // no cgroup is made: the container's own limits apply
	NoLimit  bool // no cgroup is made, and nothing is enforced
	Trace    bool // ask a user's program for a GC trace on its stderr
	Exec     bool // take an execution trace of a built-in workload that drives itself

	// Stdout is a directory for the whole stdout of each batch run; "" is none.
	Stdout string

	// Long, if not nil, is called on another goroutine in each run of a batch command
	// that reaches LongRun: it may be a service.
	Long func()

	// Warnings say what the program's confinement lacks, one sentence each, collected
	// over the runs.
	Warnings []string

	answered bool // some run had an answer, so the request is valid
}

// Run does one run.
func (r *Runner) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	run := finding.Run{
		Arm: t.Arm, Round: t.Round, Order: t.Order, Try: t.Try, Seed: t.Seed, Started: time.Now().UTC(),
	}
	if err := ctx.Err(); err != nil {
		return run, err
	}
	var err error
	switch {
	case len(r.Command) > 0 && (t.Arm.Load == LoadBatch || t.Arm.Load == experiment.LoadBenchmark):
		err = r.batch(ctx, t, &run)
	case len(r.Command) == 0 && len(r.Request.URLs) > 0:
		err = r.remote(ctx, t, &run)
	case len(r.Command) > 0 || workload.IsService(t.Arm.Workload):
		err = r.service(ctx, t, &run)
	default:
		err = r.self(ctx, t, &run)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return run, err
}

// The loads that are not a number.
const (
	LoadSaturated = "saturated" // closed loop, as fast as it goes
	LoadBatch     = "batch"     // one run of fixed work
	LoadSelf      = "self"      // the workload drives itself
)

// Users returns the number of users of a load such as "30 users".
func Users(load string) (int, bool) {
	n, ok := strings.CutSuffix(load, " users")
	if !ok {
		return 0, false
	}
	users, err := strconv.Atoi(n)
	return users, err == nil && users > 0
}

// plan returns the load of a trial.
func (r *Runner) plan(t experiment.Trial, urls []string) load.Plan {
	p := r.Request
	p.URLs, p.Seed, p.RealTime = urls, t.Seed, r.RealTime
	p.Warm, p.Window = r.WarmUp, r.Window
	users, isUsers := Users(t.Arm.Load)
	switch {
	case isUsers:
		p.Kind, p.Connections = load.Closed, users
	case t.Arm.Load == LoadSaturated:
		p.Kind, p.Connections = load.Closed, Connections
	default:
		p.Kind, p.Rate, p.Connections = load.Open, t.Rate, 0
	}
	return p
}

// served fills in what the load generator measured.
func served(run *finding.Run, res load.Result, open bool) {
	run.Window, run.Elapsed = res.Window, res.Elapsed
	run.Ops, run.Errors, run.Error, run.Unfinished = res.Ops, res.Errors, res.FirstError, res.Unfinished
	run.P50, run.P95, run.P99, run.Max = res.P50, res.P95, res.P99, res.Max
	if len(res.Latency.Counts) > 0 {
		run.Latency = (*finding.Histogram)(&res.Latency)
	}
	rps := res.RPS
	run.RPS = &rps
	run.Generator = &finding.Generator{
		LatenessP99: res.LatenessP99, LatenessMax: res.LatenessMax, CPU: res.CPUSeconds, Policy: res.Policy,
	}
	if open {
		offered := float64(res.Sent) / res.Window
		run.Offered = &offered
		run.Invalid = late(res)
	}
}

// maxLateness is how late a generator may be at the 99th percentile before its run does
// not count, in seconds: 1 ms, or 5 % of the measured latency if that is more.
const maxLateness = 0.001

func late(res load.Result) string {
	allowed := maxLateness
	if res.P99 != nil {
		allowed = max(allowed, *res.P99/20)
	}
	if res.LatenessP99 == nil || *res.LatenessP99 <= allowed {
		return ""
	}
	return fmt.Sprintf("the load generator was late: %.1f ms at the 99th percentile", *res.LatenessP99*1000)
}

// unanswered returns an error if a service answered nothing and the request may be at
// fault. If an earlier run had an answer to the same request, it is the setting's result
// instead.
func (r *Runner) unanswered(run *finding.Run, who, address string) error {
	switch {
	case run.Ops > 0:
		r.answered = true
	case run.Errors == 0:
		return &TargetError{
			fmt.Sprintf("no request was due in the window of %s", r.Window),
			"give it a longer --window, or a higher rate",
		}
	case !r.answered && strings.Contains(run.Error, "status "):
		return &TargetError{
			fmt.Sprintf("%s answered every request with an error, %s", who, run.Error),
			"send the request by hand: --url needs an address that answers with 200; set --method, --body and --header as it requires",
		}
	case !r.answered:
		return &TargetError{
			fmt.Sprintf("%s answered no request, %s: %s", who, Redacted(address), run.Error),
			"send a request to this URL by hand; --timeout allows more time",
		}
	}
	return nil
}

// Redacted returns a URL without its password.
func Redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Redacted()
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (r *Runner) base() []string {
	if r.Env != nil {
		return r.Env
	}
	return os.Environ()
}
