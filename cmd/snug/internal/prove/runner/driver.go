// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// driver loads a service in one run: with snug's load generator, or with a command.
type driver interface {
	// warm loads the service until the end of the warm-up.
	warm(context.Context) error
	// measure loads it until the end of the window.
	measure(context.Context) error
	// result fills in what was measured, always with a Generator.
	result(*finding.Run) error
	// unanswered returns an error if the load and not the setting is at fault for a run
	// without operations.
	unanswered(run *finding.Run, who string) error
	close()
}

// driver starts the driver of a trial.
func (r *Runner) driver(ctx context.Context, t experiment.Trial, urls []string) (driver, error) {
	if r.Load != "" {
		return &commandDriver{runner: r, trial: t}, nil
	}
	p := r.plan(t, urls)
	g, err := load.Start(ctx, r.Self, p)
	if err != nil {
		return nil, err
	}
	return &generatorDriver{runner: r, generator: g, plan: p}, nil
}

// generatorDriver is snug's own load generator.
type generatorDriver struct {
	runner    *Runner
	generator *load.Generator
	plan      load.Plan
	res       load.Result
}

func (d *generatorDriver) warm(ctx context.Context) error { return d.generator.Warm(ctx) }

func (d *generatorDriver) measure(ctx context.Context) (err error) {
	d.res, err = d.generator.Go(ctx)
	return err
}

func (d *generatorDriver) result(run *finding.Run) error {
	served(run, d.res, d.plan.Kind == load.Open)
	return nil
}

func (d *generatorDriver) unanswered(run *finding.Run, who string) error {
	return d.runner.unanswered(run, who, d.plan.URLs[0])
}

func (d *generatorDriver) close() { d.generator.Close() }

// plan returns the load of a trial.
func (r *Runner) plan(t experiment.Trial, urls []string) load.Plan {
	p := r.Request
	p.URLs, p.Seed, p.RealTime = urls, t.Seed, r.RealTime
	p.Warm, p.Window, p.Slices = r.WarmUp, r.Window, r.Slices
	users, isUsers := Users(t.Arm.Load)
	ramp, isRamp := finding.ParseRamp(t.Arm.Load)
	switch {
	case isRamp:
		p.Kind, p.Connections, p.To = load.Closed, ramp.From, ramp.To
		p.Window, p.Slices = ramp.Over, ramp.Slices()
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
		run.Latency = &res.Latency
	}
	run.RPS = new(res.RPS)
	run.Generator = &finding.Generator{
		LatenessP99: res.LatenessP99, LatenessMax: res.LatenessMax, CPU: res.CPUSeconds, Policy: res.Policy,
	}
	if open {
		run.Offered = new(float64(res.Sent) / res.Window)
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
	case !r.answered && r.Request.GRPC != "":
		return &TargetError{
			fmt.Sprintf("%s answered no call of %s, %s: %s", who, r.Request.GRPC, Redacted(address), run.Error),
			"call it by hand: --grpc takes package.Service/Method, --body @FILE its message in protobuf, and --url the " +
				"address of the server",
		}
	case !r.answered && strings.Contains(run.Error, "status "):
		return &TargetError{
			fmt.Sprintf("%s answered every request with an error: %s", who, run.Error),
			"send the request by hand: --url needs an address that answers with 200; set --method, --body and --header as it " +
				"requires",
		}
	case !r.answered:
		return &TargetError{
			fmt.Sprintf("%s answered no request, %s: %s", who, Redacted(address), run.Error),
			"send a request to this URL by hand; --timeout allows more time",
		}
	}
	return nil
}
