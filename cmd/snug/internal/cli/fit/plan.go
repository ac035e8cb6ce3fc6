// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/goenv"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// NewPlan returns snug plan. running returns the knobs of a process that its own code has set, and its live
// heap, which the plan then leaves alone as the library would, or why they cannot be read; nil = a process
// counts as not started.
func NewPlan(u *ui.UI, running func(pid int) (now plan.Now, unread string)) *cobra.Command {
	var at Place
	var policy PolicyFlags
	var version versionFlag
	var exe flagvalue.Text
	var workers int
	verbose := false
	cmd := &cobra.Command{
		Use:   "plan [--root DIR] [--pid N] [--go VERSION | --exe FILE] [-v] [POLICY] [HINTS]",
		Short: "Show what Go should use there, and why: GOMAXPROCS, GOMEMLIMIT, GOGC",
		Long: `Show what Go should use in a container, why, and what it would use by itself.
Nothing is changed.

Policy flags change how snug decides: --round, --min-procs, --max-procs,
--reserve-cpus and --request-factor. --gomaxprocs, --gomemlimit and --gogc give a
value outright. Hints name what you know and the process cannot see: --cpu-limit,
--cpu-request and --memory-limit; a hint never loosens a visible limit. Each flag
has a variable (SNUG_ROUND, SNUG_MIN_PROCS, SNUG_CPU_LIMIT, ...); the flag wins.

A P is the right to run Go code; GOMAXPROCS is how many there are.

snug leaves alone a GOMAXPROCS, GOMEMLIMIT or GOGC that is set in the environment.
With --pid or --root that is the environment of that process; with --pid snug also
leaves alone what its program has set. What stays and does not fit is a warning.
snug assumes recent Go, unless you name the version or the program with --go or --exe,
or --pid names a process.`,
		Example: `  snug plan
  snug plan --exe ./server
  snug plan --pid 4711 --round floor --json
  snug plan --root case.txtar --go 1.24`,
		Args: usage.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if exe != "" && version.text != "" {
				return message.Usage("--go and --exe: only one of them", "--exe finds the version of a program by itself")
			}
			if err := at.Open(); err != nil {
				return err
			}
			q := Question{At: &at, Policy: &policy, version: version, exe: string(exe), workers: workers, running: running}
			_, d, err := q.Answer(u.Getenv)
			if err != nil {
				return err
			}
			if !verbose && !u.JSON {
				d.Mounts = nil
			}
			return u.Answer(d)
		},
	}
	flags := cmd.Flags()
	at.Add(flags)
	verboseFlag(flags, &verbose)
	flagvalue.Define(flags, "workers", "`N` such Go processes share the memory", plan.Want("GOMAXPROCS"), plan.ParseProcs,
		&workers)
	flags.Var(&version, "go", "plan for a program built by Go `VERSION`")
	flags.Var(&exe, "exe", "plan for the Go program in `FILE`")
	policy.add(flags)
	usage.Complete(cmd, "round", roundings...)
	u.JSONFlag(flags)
	return cmd
}

// versionFlag is a Go version: 1.26, go1.26.8, 1.27rc1.
type versionFlag struct {
	text  string
	minor int
}

func (v *versionFlag) String() string { return v.text }
func (v *versionFlag) Type() string   { return "VERSION" }
func (v *versionFlag) Set(text string) error {
	minor, ok := goproc.ParseVersion(text)
	if !ok {
		return errors.New("a Go version such as 1.26 or go1.26.8")
	}
	v.text, v.minor = "go"+strings.TrimPrefix(text, "go"), minor
	return nil
}

// Question is everything a plan depends on.
type Question struct {
	At      *Place
	Policy  *PolicyFlags
	version versionFlag
	exe     string
	workers int
	running func(pid int) (now plan.Now, unread string) // see NewPlan
}

// operators returns the Go variables that the operator has set, without those that `snug run`
// has set.
func operators(getenv func(string) string) plan.Env {
	set := func(name string) string {
		if value := getenv(name); !plan.OfRun(getenv(fit.RunVariable), name, value) {
			return value
		}
		return ""
	}
	return plan.Env{GOMAXPROCS: set("GOMAXPROCS"), GOMEMLIMIT: set("GOMEMLIMIT"), GOGC: getenv("GOGC")}
}

// goSharers counts the Go processes in the cgroup that sets the memory limit of l, without
// this process, pid and other snugs. It looks at up to 64 processes. A program that cannot be
// read within 250 ms, such as one on a file system that is gone, is not counted.
func goSharers(l *limits.Limits, pid int) (n int) {
	pids := fit.Sharers(l)
	found := make(chan bool, len(pids))
	go func() {
		defer close(found)
		for _, p := range pids[:min(len(pids), 64)] {
			if p == strconv.Itoa(os.Getpid()) || p == strconv.Itoa(pid) {
				continue
			}
			file := "/proc/" + p + "/exe"
			if name, err := os.Readlink(file); err != nil || path.Base(name) == "snug" {
				continue // `snug run --cpus` waits for its command
			}
			exe, err := goproc.ReadExe(file)
			found <- err == nil && exe.IsGo
		}
	}()
	for late := time.After(250 * time.Millisecond); ; {
		select {
		case is, more := <-found:
			if !more {
				return n
			}
			if is {
				n++
			}
		case <-late:
			return n
		}
	}
}

// Answer reads and decides.
func (q *Question) Answer(own func(string) string) (*limits.Limits, *finding.Plan, error) {
	getenv, unknown, hidden := q.At.environ(own)
	policy, hints, mode, bad, err := q.Policy.input(getenv)
	if err != nil {
		return nil, nil, err
	}
	if q.workers > 0 {
		policy.Workers = q.workers
	}
	in := plan.Input{
		Env:    operators(getenv),
		Hints:  hints,
		Policy: policy,
	}
	exe, file, noExe, err := q.program()
	if err != nil {
		return nil, nil, err
	}
	in.Go = exe.Go(getenv("GODEBUG"))
	l, err := q.At.read()
	if err != nil {
		return nil, nil, err
	}
	in.Limits = l
	if q.At.root == "" {
		in.Others = goSharers(&l, int(q.At.pid))
		if q.At.pid == 0 { // one Go process found here may be the program in question
			in.Others = max(0, in.Others-1)
		} else if file != "" && q.exe == "" && q.running != nil { // file is that of the process
			var unread string
			if in.Now, unread = q.running(int(q.At.pid)); unread != "" {
				noExe = append(noExe, finding.Gap{Field: "program", File: "/proc/" + q.At.pid.String() + "/mem",
					Why: unread + ", so it is unknown what it has set itself"})
			}
		}
	}
	p := plan.Decide(&in)
	if mode == plan.Disable {
		off := plan.Setting{Leave: true, Reason: plan.Reason{Code: plan.Disabled}}
		p.GOMAXPROCS, p.GOMEMLIMIT, p.GOGC = off, off, off
	}
	p.Warnings = append(append(bad, unknown...), p.Warnings...)
	d := planDocument(p, &in, q.At.Target())
	d.Mode = []string{plan.On: "on", plan.Observe: "observe", plan.Disable: "off"}[mode]
	d.Unknown = append(append(d.Unknown, hidden...), noExe...)
	if exe.GoVersion != "" {
		d.Runtime.Go = &exe.GoVersion
		if exe.Minor == 0 || exe.Minor > plan.NewestKnown {
			d.Runtime.Assumed = new("1." + strconv.Itoa(plan.NewestKnown))
		}
	}
	if file != "" {
		own, err := goproc.OwnSetters(file)
		if err != nil {
			d.Unknown = append(d.Unknown, finding.Gap{Field: "program", File: finding.UTF8(file),
				Why: message.Reason(err) + ", so it is unknown what in it sets knobs"})
		}
		d.Program = &finding.Program{
			File: finding.UTF8(file), Main: finding.UTF8(exe.Main), Setters: exe.Setters(),
			ProcsSetBy: allUTF8(own.GOMAXPROCS), MemorySetBy: allUTF8(own.GOMEMLIMIT),
		}
	}
	if mode != plan.Disable {
		for _, v := range goenv.Variables(&in, p, func() bool { return d.Program != nil && len(d.Program.ProcsSetBy) > 0 }) {
			d.Set = append(d.Set, finding.Variable(v))
		}
	}
	d.Next = q.next(d)
	return &l, d, nil
}

// allUTF8 makes each string valid UTF-8. The result is never nil, so that JSON has no null.
func allUTF8(list []string) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, finding.UTF8(s))
	}
	return out
}

// program returns the Go program that the plan is for, from --go, --exe or the process of
// --pid, and its file if there is one. A running program that cannot be recognised is a gap
// and not an error: the plan then assumes recent Go.
func (q *Question) program() (exe goproc.Exe, file string, unknown []finding.Gap, err error) {
	switch {
	case q.exe != "":
		exe, err = readExe(q.exe)
		return exe, q.exe, nil, err
	case q.version.text == "" && q.At.root == "" && q.At.pid != 0:
		file = "/proc/" + q.At.pid.String() + "/exe"
		exe, err := goproc.ReadExe(file)
		why := exe.What
		if err != nil {
			why = message.Reason(err)
		}
		if why == "" {
			return exe, file, nil, nil
		}
		unknown = append(unknown, finding.Gap{Field: "program", File: file, Why: why})
	}
	return goproc.Exe{IsGo: true, Minor: q.version.minor, GoVersion: q.version.text}, "", unknown, nil
}

// next returns the next command to try.
func (q *Question) next(d *finding.Plan) string {
	program := "PROGRAM"
	if q.exe != "" {
		program = message.Quote(q.exe)
	}
	if q.At.self() && (d.GOMAXPROCS.Value != nil || d.GOMEMLIMIT.Value != nil || d.GOGC.Value != nil) {
		flags, variables := q.Policy.given()
		if q.exe != "" && goproc.FitsItself(q.exe) {
			return variables + program
		}
		return "snug run " + flags + "-- " + program
	}
	if len(d.Warnings) > 0 {
		return "snug explain " + d.Warnings[0].Code
	}
	if d.Runtime.Go125 != nil && d.ChosenByGo() {
		return "snug plan" + q.At.args() + " --exe PROGRAM"
	}
	if d.GOMAXPROCS.Code == plan.NoLimit {
		return "snug explain " + d.GOMEMLIMIT.Code
	}
	return "snug explain " + d.GOMAXPROCS.Code
}

// readExe reads a program that must be Go.
func readExe(name string) (goproc.Exe, error) {
	exe, err := goproc.ReadExe(name)
	switch {
	case err != nil:
		return exe, message.Failed(name+": "+message.Reason(err), "--exe takes the file of a built Go program")
	case exe.Gccgo():
		return exe, message.Failed(name+": unsupported: "+exe.What, goproc.GccgoHint)
	case !exe.IsGo:
		return exe, message.Failed(name+": not a Go program but "+exe.What,
			"name the version of the Go program that it starts: --go 1."+strconv.Itoa(goproc.ThisMinor()))
	}
	return exe, nil
}
