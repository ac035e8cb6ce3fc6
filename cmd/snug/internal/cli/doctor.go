// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/look"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// severities are what --fail-on takes.
var severities = map[string]finding.Severity{
	"info": finding.SeverityInfo, "warning": finding.SeverityWarning, "error": finding.SeverityError, "never": "",
}

func newDoctor(u *ui) *cobra.Command {
	duration, failOn, verbose := 10*time.Second, "warning", false
	cmd := &cobra.Command{
		Use:   "doctor TARGET...",
		Short: "Say what is wrong with a running Go process, with evidence and the fix",
		Long: `Watch Go processes for a while and say what does not fit: knobs and limits, what
they cost, and what to set instead. A target is a process number, a program's name,
a container's id or cgroup directory (every Go process in it), or what a process has
left behind: a CPU profile, an execution trace, a log with gctrace or schedtrace lines,
a Prometheus /metrics page or a pprof address.

Nothing is stopped or changed, and no process has to be prepared: the runtime's own
figures are read from memory, CPU time is sampled by perf events (99 Hz) where that
is allowed, threads and the container by what the kernel counts.

It ends with 3 when something is found that is as bad as --fail-on or worse. -v shows
every figure, and how it was read; snug explain WORD says what a word means.`,
		Example: `  snug doctor 4711
  snug doctor server --duration 30s
  snug doctor cpu.pprof
  snug doctor http://127.0.0.1:6060/metrics
  snug doctor $(docker inspect -f '{{.State.Pid}}' NAME) --json`,
		GroupID: groupLook,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("target missing, "+cmd.CommandPath(), "snug ps lists the Go processes here")
			}
			return nil
		},
		ValidArgsFunction: completePids(math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error {
			least, ok := severities[failOn]
			if !ok {
				return usage("wrong value, --fail-on "+shellQuote(failOn), "write info, warning, error or never")
			}
			if duration < 0 || duration > time.Hour {
				return usage("wrong value, --duration "+duration.String(), "0 only looks; an hour is the most")
			}
			ctx, stop := untilInterrupted()
			defer stop()
			d, wrong := doctor(ctx, u, args, duration)
			if d != nil {
				// What can be said of the other targets is not lost.
				if err := u.diagnosed(d, verbose); err != nil {
					return err
				}
			}
			if wrong != nil {
				return wrong
			}
			if least != "" && d.Worst().Level() >= least.Level() {
				return &failure{code: exitFinding}
			}
			return nil
		},
	}
	u.jsonFlag(cmd)
	cmd.Flags().Var((*spanFlag)(&duration), "duration", "watch processes for so `LONG`; 0 only looks")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "all figures, and how they were read")
	cmd.Flags().StringVar(&failOn, "fail-on", failOn, "end with 3 from this `SEVERITY` on: info, warning, error or never")
	return cmd
}

// diagnosed answers with a diagnosis; verbose is for people only.
func (u *ui) diagnosed(d *finding.Doctor, verbose bool) error {
	if !verbose || u.json {
		return u.answer(d)
	}
	var b bytes.Buffer
	if err := report.DoctorVerbose(&b, d); err != nil {
		return err
	}
	return u.write(b.Bytes())
}

// untilInterrupted is a context that ends with Ctrl-C or SIGTERM; a second one ends
// snug.
func untilInterrupted() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// mostAtOnce bounds what it takes to look at many processes: each is sampled 99 times,
// and its Ps are counted 1000 times a second.
const mostAtOnce = 16

// doctor examines all targets at the same time, or so many of them. With an error the document has
// those that could be examined; it is nil when none could.
func doctor(ctx context.Context, u *ui, names []string, duration time.Duration) (*finding.Doctor, error) {
	var all []subject
	for _, name := range names {
		found, err := resolve(name)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !slices.ContainsFunc(all, func(s subject) bool { return s.pid == t.pid && (s.pid != 0 || s.name == t.name) }) {
				all = append(all, t)
			}
		}
	}
	d := &finding.Doctor{Head: finding.NewHead(finding.KindDoctor), Targets: make([]finding.Examined, len(all))}
	files := look.NewFiles()
	errs := make([]error, len(all))
	var each sync.WaitGroup
	watching := 0
	turn := make(chan struct{}, mostAtOnce)
	for i, t := range all {
		if t.pid != 0 {
			watching++
		}
		each.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			var e *finding.Examined
			if t.pid != 0 {
				e, errs[i] = examine(ctx, t.pid, duration, files)
			} else {
				e, errs[i] = examineInput(ctx, t.name, duration)
			}
			if e != nil {
				d.Targets[i] = *e
			}
		})
	}
	if watching > 0 && duration > 0 {
		u.status("watching " + counted(watching, "process") + " for " + duration.String() + "; Ctrl-C ends it early")
	}
	each.Wait()
	u.status("")
	kept := d.Targets[:0]
	var first error
	for i := range all {
		if d.Targets[i].Kind != "" {
			kept = append(kept, d.Targets[i])
		}
		switch {
		case errs[i] == nil:
		case all[i].many:
			u.note("%s: %s", all[i].name, errs[i])
		case first == nil:
			first = lookFailure(all[i].name, errs[i])
		default:
			u.note("error: %s", lookFailure(all[i].name, errs[i]))
		}
	}
	d.Targets = kept
	if len(kept) == 0 && first != nil {
		return nil, first
	}
	if len(kept) == 0 {
		return nil, failed("nothing to look at, "+names[0], "snug ps lists the Go processes here")
	}
	d.Next = "snug ps"
	if worst := finding.Worst(kept[0].Findings); worst != "" {
		d.Next = "snug explain " + kept[0].Findings[0].ID
	}
	return d, first
}

// lookFailure is why a process could not be looked at.
func lookFailure(name string, err error) error {
	var denied *proc.Denied
	var not *notGo
	switch {
	case errors.As(err, &denied):
		return failed(denied.Error(), denied.Hint())
	case errors.Is(err, proc.ErrGone):
		return failed(absent(name)+", "+name, "snug ps lists the Go processes here")
	case errors.Is(err, proc.ErrNotLinux):
		return failed("looking at a process needs Linux", "files and addresses can be looked at anywhere")
	case errors.As(err, &not):
		return failed(not.Error(), "snug ps lists the Go processes here")
	}
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	return failed(err.Error(), "snug ps lists the Go processes here")
}

// absent says why there is nothing to look at under a process number. Source:
// proc_pid_stat(5); PF_KTHREAD in include/linux/sched.h.
func absent(pid string) string {
	const kernelThread, flags = 0x00200000, 6 // field, the state being 0
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pidOf(pid)) + "/stat")
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= flags {
		return "no such process"
	}
	if n, err := strconv.ParseUint(fields[flags], 10, 64); err == nil && n&kernelThread != 0 {
		return "a thread of the kernel"
	}
	if strings.ContainsAny(fields[0], "ZXx") {
		return "the process has ended, its parent does not wait for it"
	}
	return "no such process"
}

// pidOf is a process number; 0 when the text is none.
func pidOf(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int(n)
}

// goProcesses are the Go processes that are wanted; denied are how many may not be
// looked at.
func goProcesses(wanted func(*proc.Process) bool) (found []int, denied int, err error) {
	hints := map[string][]int{}
	err = look.New().Each(hints, wanted, func(g *goproc.Facts) { found = append(found, g.Pid) })
	if errors.Is(err, proc.ErrNotLinux) {
		return nil, 0, lookFailure("/proc", err)
	}
	if err != nil {
		return nil, 0, unlisted(err)
	}
	for _, pids := range hints {
		denied += len(pids)
	}
	return found, denied, nil
}

// spanFlag is a duration.
type spanFlag time.Duration

func (s *spanFlag) String() string { return time.Duration(*s).String() }
func (s *spanFlag) Type() string   { return "duration" }

func (s *spanFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("a duration such as 10s or 2m")
	}
	*s = spanFlag(d)
	return nil
}
