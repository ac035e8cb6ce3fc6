// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// PrepareTime is how long a prepare command may take.
const PrepareTime = 10 * time.Minute

// The phases of a run, in SNUG_PHASE.
const (
	phasePrepare = "prepare"
	phaseWarm    = "warmup"
	phaseMeasure = "measure"
)

// commandDriver loads a service with the operator's command: once for the warm-up, and
// once for the window. It is a closed loop unless the command's output says otherwise.
type commandDriver struct {
	runner *Runner
	trial  experiment.Trial

	end     ended
	said    *said      // of the window, or of its last part
	parts   []loadPart // of the window
	tooLong error      // the command did not end; nil if it did
}

// loadPart is what a command measured in a part of a window.
type loadPart struct {
	*loadResult
	ended
}

// commandParts is in how many parts a window is loaded that is counted in slices: a command takes a
// while to start, and some count whole seconds.
const commandParts = 6

// said is what a command printed.
type said struct {
	out, err *output
}

// lastLine returns the last line of its stderr or, without one, of its stdout.
func (s *said) lastLine() string {
	if line := s.err.lastLine(); line != "" {
		return shorter(line)
	}
	return shorter(s.out.lastLine())
}

func (d *commandDriver) warm(ctx context.Context) error {
	r := d.runner
	if r.WarmUp == 0 {
		return nil
	}
	end, s, err := r.outside(ctx, r.Load, d.trial, phaseWarm, r.WarmUp, r.WarmUp+r.Request.Timeout)
	return r.loadFailed(end, s, err, phaseWarm, r.WarmUp)
}

func (d *commandDriver) measure(ctx context.Context) error {
	r, n := d.runner, 1
	if r.Slices > 0 {
		n = commandParts
	}
	span := r.Window / time.Duration(n)
	for range n {
		end, s, err := r.outside(ctx, r.Load, d.trial, phaseMeasure, span, span+r.Request.Timeout)
		d.end, d.said = end, s
		err = r.loadFailed(end, s, err, phaseMeasure, span)
		if errors.Is(err, errTooLong) && r.answered {
			// The command ended in an earlier run, so this is the setting's result.
			d.tooLong = err
			return nil
		}
		if err != nil {
			return err
		}
		res, err := readLoad(s.out, end.Wall, span.Seconds())
		if err != nil {
			return err
		}
		d.parts = append(d.parts, loadPart{res, end})
	}
	return nil
}

func (d *commandDriver) result(run *finding.Run) error {
	run.Generator = &finding.Generator{Policy: d.end.Policy}
	if d.tooLong != nil {
		run.Errors, run.Error, run.Loop = 1, d.tooLong.Error(), finding.LoopClosed
		return nil
	}
	run.Generator.CPU = new(0.0)
	course := &finding.Timeline{Step: d.runner.Window.Seconds() / float64(len(d.parts))}
	for _, p := range d.parts {
		before := *run
		p.fill(run, p.Wall, d.trial.Rate)
		*run.Generator.CPU += p.CPU
		course.RPS = append(course.RPS, float64(run.Ops)/max(run.Window, 1e-9))
		run.Ops, run.Errors = run.Ops+before.Ops, run.Errors+before.Errors
		run.Window, run.Elapsed = run.Window+before.Window, run.Elapsed+before.Elapsed
	}
	if len(d.parts) > 1 {
		run.RPS, run.Timeline = new(float64(run.Ops)/run.Window), course
	}
	return nil
}

// unanswered is as that of the load generator: without operations the load command is at
// fault, until it has counted some in a run.
func (d *commandDriver) unanswered(run *finding.Run, who string) error {
	if run.Ops > 0 {
		d.runner.answered = true
		return nil
	}
	if d.runner.answered {
		return nil
	}
	what := "the load command counted no operation of " + who
	if run.Error != "" {
		what += ": " + shorter(run.Error)
	}
	if line := d.said.err.lastLine(); line != "" {
		what += "; it said: " + shorter(line)
	}
	return &TargetError{what, "start the service and the load command by hand, and see why"}
}

func (d *commandDriver) close() {}

// prepare runs the prepare command; without one it does nothing.
func (r *Runner) prepare(ctx context.Context, t experiment.Trial) error {
	if r.Prepare == "" {
		return nil
	}
	if r.LongPrepare != nil {
		long := time.AfterFunc(LongRun, r.LongPrepare)
		defer long.Stop()
	}
	end, s, err := r.outside(ctx, r.Prepare, t, phasePrepare, 0, PrepareTime)
	switch {
	case errors.Is(err, errTooLong):
		return &TargetError{
			fmt.Sprintf("the prepare command did not end in %s", PrepareTime),
			"fill the service with less, or start it from data that you filled before",
		}
	case err != nil:
		return err
	case end.Code != 0:
		return &TargetError{failedText("the prepare command", end, s),
			"start the service and the prepare command by hand, and see why"}
	}
	return nil
}

// loadFailed returns the error of a load command that failed; span is its SNUG_SECONDS.
func (r *Runner) loadFailed(end ended, s *said, err error, phase string, span time.Duration) error {
	name := "the load command"
	if phase == phaseWarm {
		name += ", in the warm-up,"
	}
	switch {
	case errors.Is(err, errTooLong):
		return &tooLongError{TargetError{
			fmt.Sprintf("%s did not end in %s (SNUG_SECONDS=%s and %s more)", name, span+r.Request.Timeout, seconds(span),
				r.Request.Timeout),
			"it must end by itself after SNUG_SECONDS; --timeout gives it more time for that",
		}}
	case err != nil:
		return err
	case end.Code != 0:
		return &TargetError{failedText(name, end, s), "start the service and the load command by hand, and see why"}
	}
	return nil
}

// errTooLong is the cause of ending a command that takes too long.
var errTooLong = errors.New("takes too long")

// tooLongError is a TargetError because of errTooLong.
type tooLongError struct{ TargetError }

func (e *tooLongError) Unwrap() []error { return []error{&e.TargetError, errTooLong} }

// failedText describes a command that failed, with the end of its output.
func failedText(name string, end ended, s *said) string {
	text := name + " failed: " + end.how()
	if line := s.lastLine(); line != "" {
		text += "; it said: " + line
	}
	return text
}

// ended says how a command ended.
type ended struct {
	cgrun.Exit
	Wall   float64 // seconds, from its start to its end
	CPU    float64 // seconds, of the command and the processes that it waited for
	Policy string  // scheduling policy with which it started
}

// how describes the end in words: "exit code 3", "killed by terminated".
func (e ended) how() string {
	if e.Signal != 0 {
		return "killed by " + syscall.Signal(e.Signal).String()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// commandGrace is how long a command may take to end after SIGTERM.
const commandGrace = time.Second

// outside runs a command beside the measured program, not in its cgroup. span is its
// SNUG_SECONDS; it is ended after limit. What it leaves is ended too.
func (r *Runner) outside(
	ctx context.Context, shell string, t experiment.Trial, phase string, span, limit time.Duration,
) (end ended, s *said, err error) {
	s = new(said)
	if s.out, err = newOutput(false); err != nil {
		return end, nil, err
	}
	defer s.out.close()
	if s.err, err = newOutput(false); err != nil {
		return end, nil, err
	}
	defer s.err.close()
	s.out.keep = loadBytes
	null, err := os.Open(os.DevNull)
	if err != nil {
		return end, nil, err
	}
	defer null.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	var began time.Time
	realTime := r.RealTime && phase != phasePrepare
	child, err := cgrun.Start(ctx, cgrun.Spec{
		Args: []string{"/bin/sh", "-c", shell}, Env: r.variables(t, phase, span),
		NoLimit: true, Marked: true, RealTime: realTime,
		Stdin: null, Stdout: s.out.w, Stderr: s.err.w,
		Ready: func(cgrun.Confinement) { began = time.Now() },
	})
	if err != nil {
		return end, s, cannotStart(ctx, err, realTime)
	}
	s.out.started()
	s.err.started()
	var failed error
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		end.Exit, failed = child.Wait()
		end.Wall = time.Since(began).Seconds()
	}()
	select {
	case <-exited:
	case <-ctx.Done():
		child.SignalGroup(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(commandGrace):
		}
	}
	if cpu := child.Usage().CPUTime; cpu != nil {
		end.CPU = cpu.Seconds()
	}
	_, err = child.Remove()
	<-exited
	end.Policy = child.Confinement.Policy
	s.out.wait()
	s.err.wait()
	if ctx.Err() != nil {
		return end, s, context.Cause(ctx)
	}
	return end, s, errors.Join(failed, err)
}

// cannotStart explains why a command did not start.
func cannotStart(ctx context.Context, err error, realTime bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cure := "--load-cmd and --prepare need a shell"
	if noWay, ok := errors.AsType[*cgrun.NoWayError](err); ok {
		if err = noWay.Tried[0].Err; realTime {
			cure = load.RealTimeCure
		}
	}
	return &limitError{"cannot start the command: " + err.Error(), cure}
}

// variables returns the environment of a command beside the program.
func (r *Runner) variables(t experiment.Trial, phase string, span time.Duration) []string {
	v := []string{
		"SNUG_PHASE=" + phase, "SNUG_SECONDS=" + seconds(span),
		"SNUG_WARMUP=" + seconds(r.WarmUp), "SNUG_WINDOW=" + seconds(r.Window),
		"SNUG_SEED=" + strconv.FormatUint(t.Seed, 10), "SNUG_URL=" + strings.Join(r.Request.URLs, " "),
	}
	users, rate := "", ""
	if n, ok := Users(t.Arm.Load); ok {
		users = strconv.Itoa(n)
	}
	if t.Rate > 0 {
		rate = strconv.FormatFloat(t.Rate, 'f', -1, 64)
	}
	return load.Variables(append(v, "SNUG_USERS="+users, "SNUG_RATE="+rate)...)
}

// seconds formats a duration as a decimal number of seconds, as short as possible.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
