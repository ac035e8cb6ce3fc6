// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/goenv"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// NewRun returns snug run.
func NewRun(u *ui.UI) *cobra.Command {
	r := runCommand{ui: u}
	cmd := &cobra.Command{
		Use:   "run [--cpus CPUS] [--memory SIZE] [POLICY] [HINTS] -- CMD [ARG...]",
		Short: "Start a program fitted to its container, or in a container of given size",
		Long: `Start CMD with the variables that make it fit its container: GOMEMLIMIT from the
memory limit, and GOMAXPROCS if the program's own Go would read the wrong CPU limit
or none. (Only then, because with a GOMAXPROCS variable the Go runtime no longer
follows a changed limit.) Variables that are already set stay as they are. Then snug
replaces itself by CMD: no extra process remains, and CMD gets its signals directly.
As a container's entry point it fails open: it reports what it cannot read and
starts CMD anyway.

--cpus and --memory make the limits: CMD runs in a fresh cgroup below snug's own,
which is verified from inside and removed when CMD has ended. If no cgroup can be
made, CMD does not start.

snug starts a CMD that is not a Go program unchanged. --as-go VERSION sets the
variables for children of CMD that are Go programs of that version.

SNUG_LOG=1 prints each decision, SNUG_LOG=json as one JSON line; SNUG=observe prints
them and sets nothing; with SNUG=off snug decides and sets nothing, and says so, but
--cpus and --memory still make their cgroup.

snug is itself a Go program: a malformed GOMEMLIMIT (1GB; Go wants 1GiB) ends it
before it can print or start anything. Of the signals that are ignored when snug
starts, CMD ignores HUP, INT and those of job control; of those that are blocked,
CMD blocks all except HUP, INT, TERM, CHLD and those that end a process with a core
dump: the Go runtime unblocks these. If several variables have the same name, CMD
gets the first.

Exit codes: CMD's own; 125 if snug failed or was used wrongly, 126 if CMD cannot be
executed, 127 if it does not exist. If a signal ends CMD in a cgroup made by --cpus
or --memory, it ends snug too; if snug is killed, so is CMD.`,
		Example: `  snug run -- ./server --port 8080
  snug run --cpus 1.5 --memory 256MiB -- ./server
  snug run --as-go 1.26 --workers 4 -- ./start.sh`,
		Args:        cobra.ArbitraryArgs,
		Annotations: usage.AnotherProgram(),
		RunE: func(_ *cobra.Command, args []string) error {
			if u.Err == os.Stderr {
				_, r.json, _ = plan.ParseLog(u.Getenv("SNUG_LOG"))
				u.Err = bestEffort{r.json} // losing snug's notes is better than not starting CMD
			}
			return runFailure(r.run(args))
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return runFailure(u.CheckColor()) },
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Parent().HelpFunc()(cmd, args)
		if cmd.CalledAs() != "" { // but not for snug help run
			u.Helped = runFailure(u.Helped)
		}
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return runFailure(ui.FlagError(cmd.CommandPath(), cmd.Flags(), err))
	})
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	r.policy.add(fs)
	flagvalue.Define(fs, "cpus", "make a CPU limit of `CPUS`, as 1.5 or 1500m", plan.Want("SNUG_CPU_LIMIT"),
		plan.ParseCPUs, &r.spec.CPUs)
	flagvalue.Define(fs, "memory", "make a memory limit of `SIZE`, as 256MiB", plan.Want("SNUG_MEMORY_LIMIT"),
		plan.ParseBytes, &r.spec.MemoryBytes)
	fs.Var(&r.asGo, "as-go", "CMD is not Go: set the variables for children built by Go `VERSION`")
	usage.Complete(cmd, "round", roundings...)
	flagvalue.Define(fs, "workers", "CMD starts `N` Go processes: each gets its share of the memory",
		plan.Want("GOMAXPROCS"), plan.ParseProcs, &r.workers)
	flagvalue.Section(fs, "A cgroup for CMD", "cpus", "memory")
	flagvalue.Section(fs, "Program", "as-go", "workers")
	return cmd
}

// runFailure gives a failure of `snug run` an exit code of its own, because 1 and 2 could be
// the command's.
func runFailure(err error) error {
	var f *message.Failure
	if errors.As(err, &f) && (f.Code == message.ExitFailed || f.Code == message.ExitUsage) {
		return &message.Failure{Code: cgrun.CodeFailed, What: f.What, Hint: f.Hint}
	}
	return err
}

type runCommand struct {
	ui      *ui.UI
	policy  PolicyFlags
	spec    cgrun.Spec
	asGo    versionFlag
	workers int
	json    bool // SNUG_LOG=json
}

func (r *runCommand) run(args []string) error {
	if len(args) == 0 {
		return message.Usage("snug run: no command", "name the program to start: snug run -- PROGRAM")
	}
	if args[0] == "" {
		return ui.EmptyWord("snug run -- ''")
	}
	if r.spec.CPUs != 0 || r.spec.MemoryBytes != 0 {
		if err := cgrun.Catch(); err != nil {
			return r.cannotRun(err)
		}
	}
	file, err := cgrun.LookPath(args[0], nil, "")
	bare := r.spec.CPUs == 0 && r.spec.MemoryBytes == 0
	if file == "" && (!bare || errors.Is(err, cgrun.ErrNotSupported)) {
		return r.cannotRun(err)
	}
	env := os.Environ()
	if file != "" {
		if env, err = r.environment(file, args[0]); err != nil {
			return err
		}
	}
	if bare {
		return r.cannotRun(replace(cgrun.Files(args[0], nil), file, args, env, r.ui.Note))
	}
	r.spec.Args, r.spec.Env = args, env
	r.spec.Ready = func(c cgrun.Confinement) {
		for _, w := range c.Warnings {
			r.ui.Note("warning: %s", w)
		}
		r.tighter(c)
	}
	result, err := cgrun.Foreground(r.spec)
	if err != nil {
		return r.cannotRun(err)
	}
	if result.Warning != nil {
		r.ui.Note("warning: %v", result.Warning)
	}
	result.Finish()
	return nil
}

// tighter warns if a level above snug's own group allows less than the flags ask for.
func (r *runCommand) tighter(c cgrun.Confinement) {
	if r.spec.CPUs > 0 && c.CPUs > 0 && c.CPUs < r.spec.CPUs*0.99 {
		r.ui.Note("warning: you asked for %s CPUs, the groups above allow only %s, %s", units.Exact(r.spec.CPUs),
			units.Exact(c.CPUs), c.CPUsFrom)
	}
	// The kernel rounds a memory limit down to whole pages.
	switch {
	case c.MemoryBytes == 0 || c.MemoryBytes >= r.spec.MemoryBytes-1<<16:
	case c.MemoryFrom == cgrun.HostMemory:
		r.ui.Note("warning: you asked for %s, the machine has only %s", plan.Bytes(r.spec.MemoryBytes),
			plan.Bytes(c.MemoryBytes))
	default:
		r.ui.Note("warning: you asked for %s, the groups above allow only %s, %s", plan.Bytes(r.spec.MemoryBytes),
			plan.Bytes(c.MemoryBytes), c.MemoryFrom)
	}
}

// cannotRun turns an error of starting a command into a failure with an exit code and a hint.
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
		hint = "it must be an executable program for this machine"
	}
	what := err.Error()
	if early := new(cgrun.InterruptedError); errors.As(err, &early) {
		what, hint = what+", snug run", "nothing was started; run it again"
	}
	return &message.Failure{Code: cgrun.ExitCode(err), What: what, Hint: hint}
}

// environment returns the command's environment: this process's own, plus the variables that
// make a Go program fit. If a limit or the program cannot be read, it prints a note, and CMD
// starts without the variables.
func (r *runCommand) environment(file, name string) ([]string, error) {
	env := os.Environ()
	in := plan.Input{Env: operators(r.ui.Getenv)}
	policy, hints, mode, bad, err := r.policy.input(r.ui.Getenv)
	if err != nil {
		return nil, err
	}
	if mode != plan.Disable {
		bad = append(bad, plan.UnknownNames(env)...)
	}
	r.warn(bad)
	if mode == plan.Disable {
		r.ui.Note("note: %s is started unchanged, %s", name, plan.Text(plan.Reason{Code: plan.Disabled}, 0))
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
	in.Go = exe.Go(r.ui.Getenv("GODEBUG"))
	if in.Limits, err = limits.Self(); err != nil {
		r.ui.Note("warning: %v: %s starts unchanged", err, name)
		return env, nil
	}
	if r.spec.MemoryBytes == 0 { // otherwise CMD is alone in its group
		in.Others = goSharers(&in.Limits, 0)
	}
	plan.Confine(&in.Limits, r.spec.CPUs, r.spec.MemoryBytes)
	p := plan.Decide(&in)
	set := goenv.Variables(&in, p, func() bool {
		own, err := goproc.OwnSetters(file)
		if err != nil {
			r.ui.Note("warning: it is unknown whether %s sets GOMAXPROCS: %s", name, message.Reason(err))
		}
		return len(own.GOMAXPROCS) > 0
	})
	if r.json {
		logJSON(&in, *p, set, mode)
	} else {
		r.warn(p.Warnings)
	}
	for _, g := range in.Limits.Gaps {
		if !r.json && !g.Redundant && (g.Field == "cpu.quota_cores" || g.Field == "memory.hard_bytes") {
			r.ui.Note("warning: %s is unknown: %s, %s", g.Field, g.Why, g.File)
		}
	}
	if !r.json && (r.logs() || mode == plan.Observe) {
		r.logDecisions(p, set, mode)
	}
	if mode == plan.Observe {
		return env, nil
	}
	var ours []string
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		// An outer snug run set it for another container. Drop it if the limit of this one
		// could be read.
		if value := r.ui.Getenv(name); plan.OfRun(r.ui.Getenv(fit.RunVariable), name, value) && decided(p, name) {
			env = goenv.Unsetenv(env, name)
		}
	}
	env = goenv.Unsetenv(env, fit.RunVariable)
	for _, v := range set {
		env = goenv.Setenv(env, v.Name, v.Value)
		ours = append(ours, v.Name+"="+v.Value)
	}
	if len(ours) > 0 && len(r.policy.setters) == 0 && r.workers == 0 { // the program reads SNUG_WORKERS itself
		// snug in the program may replace these values, because no flag asked for them.
		env = goenv.Setenv(env, fit.RunVariable, strings.Join(ours, ","))
	}
	return env, nil
}

// warn prints warnings; with SNUG_LOG=json only those about variables come here.
func (r *runCommand) warn(all []limits.Warning) {
	if r.json {
		fit.Complain(all)
		return
	}
	for _, w := range all {
		r.ui.Note("warning: %s", plan.WarningText(w))
	}
}

// logs reports whether SNUG_LOG asks for decisions.
func (r *runCommand) logs() bool {
	on, _, _ := plan.ParseLog(r.ui.Getenv("SNUG_LOG"))
	return on
}

// bestEffort writes to standard error and drops what it cannot write: a pipe that is closed or
// full must neither end snug nor block it. With json a line becomes one of SNUG_LOG=json.
type bestEffort struct{ json bool }

func (b bestEffort) Write(text []byte) (int, error) {
	if b.json {
		fit.Say("note", strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(string(text), "\n"), "snug: "), "note: "))
	} else {
		fit.Emit(string(text))
	}
	return len(text), nil
}

// recognise returns the Go program that will read the variables. It reports false for a
// command that is not Go, unless --as-go says what its children are.
func (r *runCommand) recognise(file, name string) (goproc.Exe, bool) {
	if r.asGo.text != "" {
		return goproc.Exe{IsGo: true, Minor: r.asGo.minor}, true
	}
	exe, err := goproc.ReadExe(file)
	hint := "--as-go 1." + strconv.Itoa(goproc.ThisMinor()) + " sets the variables for Go programs that it starts"
	switch {
	case err != nil:
		r.ui.Note("note: %s is started unchanged, it cannot be read: %s; %s", name, message.Reason(err), hint)
	case !exe.IsGo:
		if r.logs() { // otherwise quiet, because nothing is wrong
			r.ui.Note("note: %s is started unchanged, it is %s; %s", name, exe.What, hint)
		}
	case exe.Minor == 0:
		r.ui.Note("note: %s is started unchanged, it does not say which Go built it; %s", name,
			strings.Replace(hint, "sets the variables for Go programs that it starts", "names the version", 1))
	default:
		return exe, true
	}
	return exe, false
}

// logDecisions prints one line for each decision.
func (r *runCommand) logDecisions(p *plan.Plan, set []goenv.Variable, mode plan.Mode) {
	for _, knob := range []struct {
		name string
		s    *plan.Setting
	}{{"GOMAXPROCS", &p.GOMAXPROCS}, {"GOMEMLIMIT", &p.GOMEMLIMIT}, {"GOGC", &p.GOGC}} {
		what, sets := knob.name+" left alone", false
		for _, v := range set {
			if v.Name == knob.name {
				sets = true
				if what = v.Name + "=" + v.Value; mode == plan.Observe {
					what = "would set " + what
				}
			}
		}
		why := plan.Text(knob.s.Reason, knob.s.Value)
		if !sets && !knob.s.Leave {
			why = "Go itself chooses " + strconv.FormatInt(knob.s.Value, 10) + ": " + why
		}
		if src := knob.s.Source; src.File != "" && knob.s.Code != plan.EnvSet {
			why += " (" + src.File + ": " + src.Raw + ")"
		}
		r.ui.Note("%s: %s", what, why)
	}
}

// logJSON prints the lines of SNUG_LOG=json.
func logJSON(in *plan.Input, p plan.Plan, set []goenv.Variable, mode plan.Mode) {
	sets := map[string]bool{}
	for _, v := range set {
		sets[v.Name] = true
		if s := &p.GOMAXPROCS; v.Name == "GOMAXPROCS" && s.Leave { // it would crash
			s.Value, _ = strconv.ParseInt(v.Value, 10, 64)
			s.Leave = false
		}
	}
	fit.LogRun(in, &p, sets, mode == plan.Observe)
}

// decided reports whether the limit for a variable could be read.
func decided(p *plan.Plan, name string) bool {
	s := &p.GOMAXPROCS
	if name == "GOMEMLIMIT" {
		s = &p.GOMEMLIMIT
	}
	return !s.Leave || s.Code != plan.Unknown
}
