// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// service starts a server, or several that share the arm's limits, and loads it.
func (r *Runner) service(ctx context.Context, t experiment.Trial, run *finding.Run) (err error) {
	builtin := len(r.Command) == 0
	if url, ok := busy(r.Request.URLs); ok && !builtin {
		return &PortError{&TargetError{"something listens already, " + Redacted(url), "end it, or give the program another port: snug would measure the wrong one"}}
	}
	_, ramp := finding.ParseRamp(t.Arm.Load)
	l := launch{args: r.Command, trace: r.Trace && !builtin || ramp && builtin, protocol: builtin}
	if builtin {
		l.args = append([]string{r.Self}, workload.Args(t.Arm.Workload, workload.Options{UntilEOF: true})...)
	}
	l.env = environment(r.base(), t.Arm.Knobs, l.trace, builtin)
	share, n := t.Arm, max(1, t.Arm.Replicas)
	share.Quota /= float64(n)
	share.Memory /= int64(n)
	share.Burst /= int64(n)
	var all processes
	defer func() { all.cleanUp(&err) }() // a closure, to include those started below
	urls := r.Request.URLs
	for i := range n {
		p, err := r.start(ctx, share, l)
		if err != nil {
			return err
		}
		all = append(all, p)
		if builtin {
			var url string
			url, err = p.listening(ctx, r.Ready)
			urls = append(urls[:i:i], url)
		} else {
			err = p.awaitURLs(ctx, urls, r.Ready)
		}
		if err != nil {
			return all.died(ctx, run, "before it listened", err)
		}
	}
	run.Confined = all[0].confinement()
	alive, cancel := all.whileAlive(ctx)
	defer cancel()
	if err := r.prepare(alive, t); err != nil {
		return all.died(ctx, run, "while it was prepared", err)
	}
	d, err := r.driver(ctx, t, urls)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.warm(alive); err != nil {
		return all.died(ctx, run, "in the warm-up", err)
	}
	if builtin {
		if err := r.probe(ctx, share, urls[0], run); err != nil {
			return all.died(ctx, run, "in the stall probe", err)
		}
	}
	pause(ctx, settle)
	var before []workload.Stats
	if builtin {
		if before, err = fetchStats(ctx, urls); err != nil {
			return all.died(ctx, run, "before the window", err)
		}
	}
	a := readCounters(all)
	course := r.follow(alive, t.Arm, all)
	defer course.end()
	if err := r.watched(alive, all[0].child.PID(), d.measure); err != nil {
		return all.died(ctx, run, "in the window", err)
	}
	course.end()
	b := readCounters(all)
	course.record(run, a, b, slicesOf(d))
	b.trace = course.traced(b.trace)
	if err := d.result(run); err != nil {
		return all.died(ctx, run, "in the window", err)
	}
	account(run, a, b, run.Generator.CPU)
	traced(run, a.trace, b.trace)
	if all.ended() {
		return all.died(ctx, run, "in the window", nil)
	}
	if builtin {
		after, err := fetchStats(ctx, urls)
		if err != nil {
			return all.died(ctx, run, "after the window", err)
		}
		gc, err := between(before, after)
		if err != nil {
			return err
		}
		collected(run, gc, after[0].GOMAXPROCS)
	}
	for _, p := range all {
		run.Exit = firstOf(run.Exit, p.stop(ctx))
	}
	run.MaxRSS = all.rss()
	return d.unanswered(run, all[0].name)
}

// watched loads a service while Watch looks at a process of it, and waits for both. A load that fails ends the watch.
func (r *Runner) watched(ctx context.Context, pid int, load func(context.Context) error) error {
	if r.Watch == nil {
		return load(ctx)
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Watch(watching, pid)
	}()
	err := load(ctx)
	if err != nil {
		cancel()
	}
	<-done
	return err
}

// listening waits for the line in which a built-in service prints its URL.
func (p *process) listening(ctx context.Context, limit time.Duration) (string, error) {
	type answer struct {
		url string
		err error
	}
	said := make(chan answer, 1)
	go func() {
		url, err := workload.ReadListening(p.stdout)
		said <- answer{url, err}
	}()
	select {
	case a := <-said:
		return a.url, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(limit):
		return "", p.notListening("", limit)
	}
}

// notListening returns the error of a service that does not listen; address may be "".
func (p *process) notListening(address string, limit time.Duration) error {
	what := fmt.Sprintf("%s does not listen after %s", p.name, limit)
	if address != "" {
		what += ", " + Redacted(address)
	}
	if said := p.lastOutput(); said != "" {
		what += "; it said: " + said
	}
	return &TargetError{what, "give it more time with --ready, or check the URL"}
}

// awaitURLs waits until every URL accepts connections.
func (p *process) awaitURLs(ctx context.Context, urls []string, limit time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-wait.Done():
		}
	}()
	for _, url := range urls {
		if err := load.WaitListening(wait, url, 10*time.Millisecond); err != nil {
			if p.ended() || ctx.Err() != nil {
				return err
			}
			return p.notListening(url, limit)
		}
	}
	return nil
}

func busy(urls []string) (string, bool) {
	for _, url := range urls {
		if load.Listening(url) {
			return url, true
		}
	}
	return "", false
}

// probe measures how long spinning threads are throttled, one for each of the program's
// Ps.
func (r *Runner) probe(ctx context.Context, arm finding.Arm, url string, run *finding.Run) error {
	if r.Probe <= 0 || arm.Quota == 0 {
		return nil
	}
	res, err := workload.FetchProbe(ctx, url, 0, r.Probe)
	if err != nil {
		return err
	}
	run.Stall = stall(res, arm.Quota, run.Confined.PeriodMicros)
	return nil
}

// remote loads a service that already runs.
func (r *Runner) remote(ctx context.Context, t experiment.Trial, run *finding.Run) error {
	for _, url := range r.Request.URLs {
		if !load.Listening(url) {
			return &TargetError{"nothing listens, " + Redacted(url), "start the service first, or give its command after --"}
		}
	}
	d, err := r.driver(ctx, t, r.Request.URLs)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.warm(ctx); err != nil {
		return err
	}
	pause(ctx, settle)
	a := readMachine()
	course := r.follow(ctx, t.Arm, nil)
	defer course.end()
	if err := d.measure(ctx); err != nil {
		return err
	}
	course.record(run, counters{}, counters{}, slicesOf(d))
	if err := d.result(run); err != nil {
		return err
	}
	run.Noise = noise(a, readMachine(), nil)
	return d.unanswered(run, "the service")
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
