// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/profile/gobench"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// weight is the weight of an experiment's cgroup: the kernel's maximum. On a busy
// machine, neighbours that take CPU from a container below its quota would only be noise.
const weight = 10000

// stopGrace is how long a program may take to end after SIGTERM.
const stopGrace = 3 * time.Second

// process is a program in its cgroup.
type process struct {
	name   string
	child  *cgrun.Child
	stdin  *os.File // write end; nil if the program has none
	stdout *os.File // read end, if the program speaks the workloads' protocol; else nil
	out    *output  // drained stdout; nil if stdout is set
	err    *output
	exited chan struct{}
	began  time.Time // just before the program's first instruction
	over   time.Time
	exit   cgrun.Exit
	failed error // of waiting

	largest *int64 // see sampleRSS
}

// Guard returns the memory limit if the arm sets none, in bytes: 80 % of the machine's
// available memory.
func Guard() int64 { return meminfo("MemAvailable:") / 5 * 4 }

// launch describes how to start a program.
type launch struct {
	args     []string
	env      []string
	protocol bool // stdin and stdout are pipes to this process
	trace    bool // stderr carries a GC trace

	benchmarks bool // stdout has the results of Go benchmarks
}

// start runs a program confined as the arm says, or returns an error. The caller must
// call remove.
func (r *Runner) start(ctx context.Context, arm finding.Arm, l launch) (*process, error) {
	p, err := r.confine(ctx, arm, l)
	if err != nil {
		awaitInterrupt(ctx)
		return nil, err
	}
	if !r.NoLimit && !r.Own {
		if err := enforced(arm, p.child.Confinement); err != nil {
			return nil, errors.Join(err, p.remove())
		}
	}
	for _, w := range p.child.Confinement.Warnings {
		if !slices.Contains(r.Warnings, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
	return p, nil
}

func (r *Runner) confine(ctx context.Context, arm finding.Arm, l launch) (p *process, err error) {
	p = &process{name: l.args[0], exited: make(chan struct{})}
	if l.args[0] == r.Self {
		p.name = "the built-in " + arm.Workload
	}
	var ends []*os.File // of the program
	made := p           // p itself is nil if there is an error
	defer func() {
		for _, f := range ends {
			f.Close()
		}
		if err != nil {
			made.closeFiles()
		}
	}()
	spec := cgrun.Spec{
		Args: l.args, Env: l.env, Dir: r.Dir,
		CPUs: arm.Quota, MemoryBytes: arm.Memory,
		Counters: true,
		Ready:    func(cgrun.Confinement) { p.began = time.Now() },
	}
	switch {
	case r.NoLimit:
		spec.NoLimit, spec.CPUs, spec.MemoryBytes = true, 0, 0
	case r.Own:
		spec.Own, spec.CPUs, spec.MemoryBytes = true, 0, 0
	default:
		spec.Weight = weight
		if spec.MemoryBytes == 0 {
			// A leaking program kills itself, not the machine.
			spec.MemoryBytes, spec.MemoryOptional = Guard(), true
		}
	}
	if p.err, err = newOutput(l.trace); err != nil {
		return nil, err
	}
	spec.Stderr = p.err.w
	if l.protocol {
		in, inW, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ends, p.stdin, spec.Stdin = append(ends, in), inW, in
		out, outW, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ends, p.stdout, spec.Stdout = append(ends, outW), out, outW
	} else {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		ends, spec.Stdin = append(ends, null), null
		if p.out, err = newOutput(false); err != nil {
			return nil, err
		}
		if l.benchmarks {
			p.out.benchmarks = new(gobench.Reader)
		}
		spec.Stdout = p.out.w
	}
	if p.child, err = cgrun.Start(ctx, spec); err != nil {
		return nil, err
	}
	p.err.started()
	if p.out != nil {
		p.out.started()
	}
	go func() {
		p.exit, p.failed = p.child.Wait()
		p.over = time.Now()
		close(p.exited)
	}()
	return p, nil
}

// confinement returns the confinement that the program proved.
func (p *process) confinement() finding.Confinement {
	c := p.child.Confinement
	return finding.Confinement{
		Way: string(c.Way), Group: c.CPUGroup, QuotaMicros: c.QuotaMicros, PeriodMicros: c.PeriodMicros,
		BurstMicros: c.BurstMicros, MemoryBytes: c.MemoryBytes, Policy: c.Policy,
	}
}

// ended reports whether the program has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// stop sends SIGTERM to the program, and SIGKILL after stopGrace or when ctx ends. It
// returns "" if the program ended as asked.
func (p *process) stop(ctx context.Context) string {
	if p.ended() {
		return p.end()
	}
	p.sampleRSS()
	p.child.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return ""
	case <-ctx.Done():
		p.child.Signal(syscall.SIGKILL)
		<-p.exited
		return ""
	case <-time.After(stopGrace):
		p.child.Signal(syscall.SIGKILL)
		<-p.exited
		return fmt.Sprintf("ignored SIGTERM for %g s, killed", stopGrace.Seconds())
	}
}

// end describes how the program ended by itself.
func (p *process) end() string {
	switch {
	case p.failed != nil:
		return p.failed.Error()
	case p.exit.Signal != 0:
		return "killed by " + syscall.Signal(p.exit.Signal).String()
	}
	return fmt.Sprintf("exit code %d", p.exit.Code)
}

// remove kills what is left of the program and removes its cgroup. It may be called if
// start failed.
func (p *process) remove() error {
	if p == nil {
		return nil
	}
	_, err := p.child.Remove()
	<-p.exited
	p.closeFiles()
	if err != nil {
		return fmt.Errorf("cannot clean up after %s: %w", p.name, err)
	}
	return nil
}

func (p *process) closeFiles() {
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if f != nil {
			f.Close()
		}
	}
	p.out.close()
	p.err.close()
}

// A TargetError reports a program that did not do what an experiment needs. The
// experiment cannot continue.
type TargetError struct {
	What string
	Cure string
}

func (e *TargetError) Error() string { return e.What }

// TargetFailed makes it an experiment.TargetFailure.
func (e *TargetError) TargetFailed() {}

// A PortError reports that another program has the port of the service, maybe only for a
// moment. It is also a *TargetError, by errors.As.
type PortError struct{ Target *TargetError }

func (e *PortError) Error() string { return e.Target.What }
func (e *PortError) Unwrap() error { return e.Target }

// awaitInterrupt gives ctx a moment to end: a terminal's Ctrl-C reaches snug and the
// programs that it started, maybe them first.
func awaitInterrupt(ctx context.Context) { pause(ctx, 250*time.Millisecond) }

// crashed explains a program that ended too early. If the experiment was interrupted it
// returns that error: a terminal's Ctrl-C reaches both.
func (p *process) crashed(ctx context.Context, when string) error {
	if p.exit.Signal == int(syscall.SIGINT) || p.exit.Signal == int(syscall.SIGTERM) {
		awaitInterrupt(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.err.wait() // for its last output
	what := fmt.Sprintf("%s ended %s, %s", p.name, when, p.end())
	if said := p.lastOutput(); said != "" {
		what += "; it said: " + said
	}
	if strings.Contains(what, "address already in use") {
		return &PortError{&TargetError{what, "end what listens there, or give the program another port"}}
	}
	return &TargetError{what, "run it by hand first: the command must keep serving until it gets SIGTERM"}
}

// lastOutput returns the last line that the program printed.
func (p *process) lastOutput() string {
	s := p.err.lastLine()
	if s == "" && p.out != nil && p.out.benchmarks != nil {
		s = p.out.failed()
	}
	if s == "" && p.out != nil {
		s = p.out.lastLine()
	}
	return shorter(s)
}

// shorter bounds what is quoted of a program's output.
func shorter(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}

// oomKilled reports whether the program was OOM-killed.
func (p *process) oomKilled() bool {
	u := p.child.Usage()
	return u.OOMKills != nil && *u.OOMKills > 0
}

// environment returns this process's variables, with Go's replaced by the arm's knobs.
// trace adds gctrace, so that the Go runtime reports its collections.
func environment(base []string, k finding.Knobs, trace, builtin bool) []string {
	var env []string
	debug := ""
	take := func(v string) {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "GOMAXPROCS", "GOGC", "GOMEMLIMIT":
		case "GODEBUG":
			debug = value
		default:
			env = append(env, v)
		}
	}
	for _, v := range base {
		name, _, _ := strings.Cut(v, "=")
		if _, other := k.Vars.Get(name); !other {
			take(v)
		}
	}
	for _, v := range k.Vars.List() {
		take(v)
	}
	for _, v := range []struct{ name, value string }{
		{"GOMAXPROCS", k.GOMAXPROCS}, {"GOGC", k.GOGC}, {"GOMEMLIMIT", k.GOMEMLIMIT},
	} {
		if v.value != "" {
			env = append(env, v.name+"="+v.value)
		}
	}
	add := func(setting string) {
		if debug != "" {
			debug += ","
		}
		debug += setting
	}
	if trace {
		add("gctrace=1")
	}
	if builtin {
		// By default snug does not size itself; its workloads must behave like
		// any other program does.
		add(workload.Defaults)
	}
	if debug != "" {
		env = append(env, "GODEBUG="+debug)
	}
	return env
}
