// SPDX-License-Identifier: Apache-2.0

// Package runner does one run of an experiment: it starts a fresh process in a fresh
// cgroup, loads it, reads its counters and removes it. It joins cgrun, load and workload.
package runner

import (
	"context"
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

// LongRun is the time after which a batch command may be a service, and a prepare command
// may hang.
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
	// Load is a command that loads the service instead of snug's load generator, and Prepare
	// one that fills it before; both for sh -c, "" is none. See commandDriver.
	Load    string
	Prepare string
	// Ready is how long a service may take until it listens.
	Ready time.Duration

	WarmUp time.Duration // discarded
	Window time.Duration // measured
	Slices int           // in which the window of a closed loop is counted too; 0 is none

	RealTime bool // the load generator becomes SCHED_RR
	Own      bool // no cgroup is made: the container's own limits apply
	NoLimit  bool // no cgroup is made, and nothing is enforced
	Trace    bool // ask the program for a GC trace on its stderr
	Exec     bool // take an execution trace of a built-in workload that drives itself

	// Watch, if not nil, looks at the service with this process id while it is loaded; the run waits for its return, and
	// its context ends with the service or the run.
	Watch func(ctx context.Context, pid int)

	// Long, if not nil, is called on another goroutine in each run of a batch command
	// that reaches LongRun: it may be a service.
	Long func()
	// LongPrepare is Long for a prepare command.
	LongPrepare func()

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
	LoadCommand   = "command"   // as much as the load command sends
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
