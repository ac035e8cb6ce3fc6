// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

func newRun(u *ui) *cobra.Command {
	r := runCommand{ui: u}
	cmd := &cobra.Command{
		Use:   "run [--cpus CPUS] [--memory SIZE] [POLICY] [HINTS] -- CMD [ARG...]",
		Short: "Start a program fitted to its container, or in a container of given size",
		Long: `Start CMD with the variables that make it fit the container it is in: GOMEMLIMIT
from the memory limit, and GOMAXPROCS where the program's own Go would read the
wrong CPU limit or none. (A GOMAXPROCS variable ends the Go runtime's own
following of a changed limit, so it is set only there.) Variables that are set
already stay as they are. Then snug replaces itself by CMD: no process stays
between, no signal is passed on, nothing is left to go wrong. As a container's
entry point it fails open: what cannot be read is reported, and CMD starts.

--cpus and --memory make the limits: CMD runs in a fresh cgroup below snug's own,
proved from inside, and gone when CMD has ended. Where no cgroup can be made CMD
does not start.

A CMD that is not a Go program is started unchanged; --as-go VERSION sets what
helps Go programs of that version among its children.

SNUG_LOG=1 prints each decision; SNUG=observe prints and sets nothing; SNUG=off
only starts CMD.

snug is itself a Go program: a malformed GOMEMLIMIT (1GB; Go wants 1GiB) ends it
before it can say or start anything, as it would any other. Signals that were
ignored or blocked are so for CMD, if snug is a release's; built by a plain "go
install", CMD gets as ignored only HUP, INT and those of job control, and as
blocked all but HUP, INT, TERM and CHLD and those that end a process with a core.
Of several variables of one name CMD gets the first.

Exit codes: CMD's own; 125 when snug failed or was used wrongly, 126 when CMD
cannot be executed, 127 when there is none. When a signal ends CMD in a cgroup
made by --cpus or --memory, it ends snug too.`,
		Example: `  snug run -- ./server --port 8080
  snug run --cpus 1.5 --memory 256MiB -- ./server
  snug run --as-go 1.26 --workers 4 -- ./start.sh`,
		GroupID: groupFit,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if u.err == os.Stderr {
				u.err = bestEffort{} // CMD starts without snug's notes rather than not at all
			}
			return runFailure(r.run(args))
		},
	}
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return runFailure(flagError(c, err)) })
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	r.policy.add(fs)
	defineValue(fs, "cpus", "make a CPU limit of `CPUS`, as 1.5 or 1500m", plan.Want("SNUG_CPU_LIMIT"), plan.ParseCPUs, &r.spec.CPUs)
	defineValue(fs, "memory", "make a memory limit of `SIZE`, as 256MiB", plan.Want("SNUG_MEMORY_LIMIT"), plan.ParseBytes, &r.spec.MemoryBytes)
	fs.Var(&r.asGo, "as-go", "set what helps Go `VERSION` for the children of a CMD that is not Go")
	defineValue(fs, "workers", "CMD starts `N` Go processes: each gets its share of the memory", plan.Want("GOMAXPROCS"), plan.ParseProcs, &r.workers)
	return cmd
}

// runFailure gives a failure of `snug run` its own exit code: 1 and 2 would be
// mistaken for the command's.
func runFailure(err error) error {
	var f *failure
	if errors.As(err, &f) && (f.code == exitFailed || f.code == exitUsage) {
		return &failure{cgrun.CodeFailed, f.what, f.hint}
	}
	return err
}

type runCommand struct {
	ui      *ui
	policy  policyFlags
	spec    cgrun.Spec
	asGo    versionFlag
	workers int
}

func (r *runCommand) run(args []string) error {
	if len(args) == 0 {
		return usage("no command, snug run", "name the program to start: snug run -- PROGRAM")
	}
	if args[0] == "" {
		return emptyWord("snug run -- ''")
	}
	if r.spec.CPUs != 0 || r.spec.MemoryBytes != 0 {
		if err := cgrun.Catch(); err != nil {
			return r.cannotRun(err)
		}
	}
	file, err := cgrun.LookPath(args[0], nil, "")
	if err != nil {
		return r.cannotRun(err)
	}
	env, err := r.environment(file, args[0])
	if err != nil {
		return err
	}
	if r.spec.CPUs == 0 && r.spec.MemoryBytes == 0 {
		return r.cannotRun(replace(file, args, env))
	}
	r.spec.Args, r.spec.Env = args, env
	r.spec.Ready = func(c cgrun.Confinement) {
		for _, w := range c.Warnings {
			r.ui.note("warning: %s", w)
		}
		r.tighter(c)
	}
	result, err := cgrun.Foreground(r.spec)
	if err != nil {
		return r.cannotRun(err)
	}
	if result.Warning != nil {
		r.ui.note("warning: %v", result.Warning)
	}
	result.Finish()
	return nil
}

// tighter says where a level above snug's own group leaves less than was asked.
func (r *runCommand) tighter(c cgrun.Confinement) {
	if r.spec.CPUs > 0 && c.CPUs > 0 && c.CPUs < r.spec.CPUs*0.99 {
		r.ui.note("warning: %s CPUs were asked for and %s are what the groups above allow, %s", trimFloat(r.spec.CPUs), trimFloat(c.CPUs), c.CPUsFrom)
	}
	// The kernel rounds a memory limit down to whole pages.
	switch {
	case c.MemoryBytes == 0 || c.MemoryBytes >= r.spec.MemoryBytes-1<<16:
	case c.MemoryFrom == cgrun.HostMemory:
		r.ui.note("warning: %s were asked for and the machine has %s", plan.Bytes(r.spec.MemoryBytes), plan.Bytes(c.MemoryBytes))
	default:
		r.ui.note("warning: %s were asked for and %s are what the groups above allow, %s", plan.Bytes(r.spec.MemoryBytes), plan.Bytes(c.MemoryBytes), c.MemoryFrom)
	}
}

func trimFloat(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// cannotRun turns an error of starting a command into a failure with its exit
// code and its cure.
func (r *runCommand) cannotRun(err error) error {
	if err == nil {
		return nil
	}
	hint := cgrun.Hint(err)
	var bad *cgrun.ExecError
	switch {
	case errors.Is(err, cgrun.ErrNotSupported):
		hint = "run it on the Linux machine, or in its container"
	case errors.As(err, &bad) && bad.Code == cgrun.CodeNotFound && hint == "":
		hint = "check the name and PATH; everything after -- is the command"
	case errors.As(err, &bad) && hint == "":
		hint = "it has to be a program for this machine that may be executed"
	}
	what := err.Error()
	if early := new(cgrun.InterruptedError); errors.As(err, &early) {
		what, hint = what+", snug run", "nothing was started; run it again"
	}
	return &failure{cgrun.ExitCode(err), what, hint}
}

// environment is the command's environment: this process's own, and what helps
// a Go program fit. Whatever goes wrong here is told, and CMD starts without.
func (r *runCommand) environment(file, name string) ([]string, error) {
	env := os.Environ()
	in := plan.Input{Env: operators(r.ui.getenv)}
	policy, hints, mode, bad, err := r.policy.input(r.ui.getenv)
	if err != nil {
		return nil, err
	}
	if mode != plan.Disable {
		bad = append(bad, plan.UnknownNames(env)...)
	}
	for _, w := range bad {
		r.ui.note("warning: %s", plan.WarningText(w))
	}
	if mode == plan.Disable {
		return env, nil
	}
	exe, ok := r.recognise(file, name)
	if !ok {
		return env, nil
	}
	in.Policy, in.Hints = policy, hints
	if r.workers > 0 {
		in.Policy.Workers = r.workers
	}
	in.Go = goOf(&exe, r.ui.getenv("GODEBUG"))
	if in.Limits, err = limits.Self(); err != nil {
		r.ui.note("warning: %v: %s starts as it is", err, name)
		return env, nil
	}
	if r.spec.MemoryBytes == 0 { // else it is alone in its group
		in.Others = goSharers(&in.Limits, 0)
	}
	plan.Confine(&in.Limits, r.spec.CPUs, r.spec.MemoryBytes)
	p := plan.Decide(&in)
	for _, w := range p.Warnings {
		r.ui.note("warning: %s", plan.WarningText(w))
	}
	for _, g := range in.Limits.Unknown {
		if !g.Other && (g.Field == "cpu.quota_cores" || g.Field == "memory.hard_bytes") {
			r.ui.note("warning: %s is not known: %s, %s", g.Field, g.Why, g.File)
		}
	}
	set := variables(&in, p, func() bool { return len(goproc.OwnSetters(file).GOMAXPROCS) > 0 })
	if r.logs() || mode == plan.Observe {
		r.tell(p, set, mode)
	}
	if mode == plan.Observe {
		return env, nil
	}
	var ours []string
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		// What an outer run has set was for another container, if this one knows its own.
		if value := r.ui.getenv(name); plan.OfRun(r.ui.getenv(fit.RunVariable), name, value) && decided(p, name) {
			env = unsetenv(env, name)
		}
	}
	env = unsetenv(env, fit.RunVariable)
	for _, v := range set {
		env = setenv(env, v.name, v.value)
		ours = append(ours, v.name+"="+v.value)
	}
	if len(ours) > 0 && len(r.policy.given) == 0 && r.workers == 0 { // SNUG_WORKERS is read by what goes on, too
		// A program with snug in it goes on from there: nobody asked for these.
		env = setenv(env, fit.RunVariable, strings.Join(ours, ","))
	}
	return env, nil
}

// logs reports whether SNUG_LOG asks for decisions.
func (r *runCommand) logs() bool {
	on, _ := plan.ParseSwitch(r.ui.getenv("SNUG_LOG"))
	return on
}

// bestEffort is standard error for what is dropped where it cannot be written: a pipe
// without a reader, or a full one, must neither end snug nor hold it up.
type bestEffort struct{}

func (bestEffort) Write(text []byte) (int, error) {
	fit.Emit(string(text))
	return len(text), nil
}

// recognise finds out which Go reads the variables. A command that is not Go is
// left alone unless the operator says what its children are.
func (r *runCommand) recognise(file, name string) (goproc.Exe, bool) {
	if r.asGo.text != "" {
		return goproc.Exe{IsGo: true, Minor: r.asGo.minor}, true
	}
	exe, err := goproc.ReadExe(file)
	cure := "--as-go 1." + strconv.Itoa(goproc.ThisMinor()) + " sets what helps Go programs that it starts"
	switch {
	case err != nil:
		r.ui.note("note: %s is started unchanged, it cannot be read: %s; %s", name, reason(err), cure)
	case !exe.IsGo:
		if r.logs() { // else silence: nothing is wrong
			r.ui.note("note: %s is started unchanged, it is %s; %s", name, exe.What, cure)
		}
	case exe.Minor == 0:
		r.ui.note("note: %s is started unchanged, it does not say which Go built it; %s", name, strings.Replace(cure, "sets what helps Go programs that it starts", "names the version", 1))
	default:
		return exe, true
	}
	return exe, false
}

// A variable is one to be set for the command.
type variable struct{ name, value string }

// variables are those that help: every knob that was decided on, but GOMAXPROCS
// only where the command would use another number by itself, or crash. own reports whether
// its own code sets GOMAXPROCS; code that does so as a default honours the variable. Where
// the runtime follows the quota, the variable would end that, for code that may never run.
func variables(in *plan.Input, p *plan.Plan, own func() bool) []variable {
	var set []variable
	s := p.GOMAXPROCS
	if p.Runtime == plan.Crash && s.Leave && s.Code != plan.EnvSet {
		if cpus, ok := in.Limits.CPU.Affinity.Get(); ok {
			s = plan.Setting{Value: int64(cpus)}
		}
	}
	inside := int64(plan.Automaxprocs(&in.Limits.CPU, in.Go)) // it honours the variable
	if !s.Leave && (s.Value != int64(p.Runtime) || inside != 0 && s.Value != inside || s.Code == plan.Explicit || in.Go.Blind && own()) {
		set = append(set, variable{"GOMAXPROCS", strconv.FormatInt(s.Value, 10)})
	}
	add := func(name string, s *plan.Setting, off int64) {
		switch {
		case s.Leave:
		case s.Value == off:
			set = append(set, variable{name, "off"})
		default:
			set = append(set, variable{name, strconv.FormatInt(s.Value, 10)})
		}
	}
	add("GOMEMLIMIT", &p.GOMEMLIMIT, plan.NoMemLimit)
	add("GOGC", &p.GOGC, plan.Off)
	return set
}

// tell prints one line for each decision.
func (r *runCommand) tell(p *plan.Plan, set []variable, mode plan.Mode) {
	for _, knob := range []struct {
		name string
		s    *plan.Setting
	}{{"GOMAXPROCS", &p.GOMAXPROCS}, {"GOMEMLIMIT", &p.GOMEMLIMIT}, {"GOGC", &p.GOGC}} {
		what := knob.name + " left alone"
		for _, v := range set {
			if v.name == knob.name {
				if what = v.name + "=" + v.value; mode == plan.Observe {
					what = "would set " + what
				}
			}
		}
		why := plan.Text(knob.s.Reason, knob.s.Value)
		if strings.HasSuffix(what, "alone") && !knob.s.Leave {
			why = "Go itself chooses " + strconv.FormatInt(knob.s.Value, 10) + ": " + why
		}
		if src := knob.s.Source; src.File != "" && knob.s.Code != plan.EnvSet {
			why += " (" + src.File + ": " + src.Raw + ")"
		}
		r.ui.note("%s: %s", what, why)
	}
}

// setenv is env with one variable set. Of several with the same name the first
// counts in C and the last in Go: none of them stays.
func setenv(env []string, name, value string) []string {
	return append(unsetenv(env, name), name+"="+value)
}

func unsetenv(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// decided reports whether the limit behind a knob could be read.
func decided(p *plan.Plan, name string) bool {
	s := &p.GOMAXPROCS
	if name == "GOMEMLIMIT" {
		s = &p.GOMEMLIMIT
	}
	return !s.Leave || s.Code != plan.Unknown
}
