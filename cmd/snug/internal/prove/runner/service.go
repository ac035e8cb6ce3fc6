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

// service starts a server and loads it.
func (r *Runner) service(ctx context.Context, t experiment.Trial, run *finding.Run) (err error) {
	builtin := len(r.Command) == 0
	if url, ok := busy(r.Request.URLs); ok && !builtin {
		return &PortError{&TargetError{Redacted(url) + ": something listens already",
			"end it, or give the program another port: snug would measure the wrong one"}}
	}
	l := launch{args: r.Command, trace: r.Trace || builtin, protocol: builtin}
	if builtin {
		l.args = append([]string{r.Self}, workload.Args(t.Arm.Workload, workload.Options{})...)
	}
	l.env = environment(r.base(), t.Arm.Knobs, l.trace, builtin)
	p, err := r.start(ctx, t.Arm, l)
	if err != nil {
		return err
	}
	defer p.cleanUp(&err)
	urls := r.Request.URLs
	if builtin {
		var e workload.Event
		e, err = p.listening(ctx, r.Ready)
		urls, run.Procs = []string{e.URL}, &e.Procs
	} else {
		err = p.awaitURLs(ctx, urls, r.Ready)
	}
	if err != nil {
		return p.died(ctx, run, "before it listened", err)
	}
	run.Confined = p.confinement()
	alive, cancel := p.whileAlive(ctx)
	defer cancel()
	if err := r.prepare(alive, t); err != nil {
		return p.died(ctx, run, "while it was prepared", err)
	}
	d, err := r.driver(ctx, t, urls)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.warm(alive); err != nil {
		return p.died(ctx, run, "in the warm-up", err)
	}
	pause(ctx, settle)
	a := readCounters(p)
	course := r.follow(alive, t.Arm, p)
	defer course.end()
	if err := r.watched(alive, p.child.PID(), d.measure); err != nil {
		return p.died(ctx, run, "in the window", err)
	}
	course.end()
	b := readCounters(p)
	course.record(run, a, b, slicesOf(d))
	b.trace = course.traced(b.trace)
	if err := d.result(run); err != nil {
		return p.died(ctx, run, "in the window", err)
	}
	account(run, a, b, run.Generator.CPU)
	traced(run, a.trace, b.trace)
	if p.ended() {
		return p.died(ctx, run, "in the window", nil)
	}
	run.Exit = p.stop(ctx)
	run.MaxRSS = p.rss()
	return d.unanswered(run, p.name)
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

// listening waits for the event in which a built-in service says its URL.
func (p *process) listening(ctx context.Context, limit time.Duration) (workload.Event, error) {
	var e workload.Event
	var err error
	said := make(chan struct{})
	go func() {
		defer close(said)
		e, err = workload.ReadEvents(p.stdout).Next("listening")
	}()
	select {
	case <-said:
		return e, err
	case <-ctx.Done():
		return workload.Event{}, ctx.Err()
	case <-time.After(limit):
		return workload.Event{}, p.notListening("", limit)
	}
}

// notListening returns the error of a service that does not listen; address may be "".
func (p *process) notListening(address string, limit time.Duration) error {
	what := fmt.Sprintf("%s does not listen after %s", p.name, limit)
	if address != "" {
		what = Redacted(address) + ": " + what
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

// remote loads a service that already runs.
func (r *Runner) remote(ctx context.Context, t experiment.Trial, run *finding.Run) error {
	for _, url := range r.Request.URLs {
		if !load.Listening(url) {
			return &TargetError{Redacted(url) + ": nothing listens", "start the service first, or give its command after --"}
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
