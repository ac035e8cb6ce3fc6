// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/proc"
)

// severities are what --fail-on takes.
var severities = map[string]finding.Severity{
	"info": finding.SeverityInfo, "warning": finding.SeverityWarning, "error": finding.SeverityError, "never": "",
}

func newDoctor(u *ui) *cobra.Command {
	duration, failOn := 10*time.Second, "warning"
	cmd := &cobra.Command{
		Use:   "doctor TARGET...",
		Short: "Say what is wrong with a running Go process, with evidence and the fix",
		Long: `Watch Go processes for a while and say what does not fit: knobs and limits, what
they cost, and what to set instead. A target is a process number, a program's name,
a container's id or cgroup directory (every Go process in it), or what a process has
left behind: a CPU profile, a log with gctrace or schedtrace lines, a Prometheus
/metrics page or a pprof address.

Nothing is stopped or changed, and no process has to be prepared: the runtime's own
figures are read from memory, CPU time is sampled by perf events (99 Hz) where that
is allowed, threads and the container by what the kernel counts.

It ends with 3 when something is found that is as bad as --fail-on or worse.`,
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
		RunE: func(_ *cobra.Command, args []string) error {
			least, ok := severities[failOn]
			if !ok {
				return usage("wrong value, --fail-on "+shellQuote(failOn), "write info, warning, error or never")
			}
			if duration < 0 || duration > time.Hour {
				return usage("wrong value, --duration "+duration.String(), "0 only looks; an hour is the most")
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			d, err := doctor(ctx, u, args, duration)
			if err != nil {
				return err
			}
			if err := u.answer(d); err != nil {
				return err
			}
			if least != "" && d.Worst().Level() >= least.Level() {
				return &failure{code: exitFinding}
			}
			return nil
		},
	}
	u.jsonFlag(cmd)
	cmd.Flags().DurationVar(&duration, "duration", duration, "watch processes for so long; 0 only looks (`D`)")
	cmd.Flags().StringVar(&failOn, "fail-on", failOn, "end with 3 from this `SEVERITY` on: info, warning, error or never")
	return cmd
}

// doctor examines all targets, processes at the same time.
func doctor(ctx context.Context, u *ui, names []string, duration time.Duration) (*finding.Doctor, error) {
	var all []subject
	for _, name := range names {
		found, err := resolve(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	d := &finding.Doctor{Head: finding.NewHead(finding.KindDoctor), Targets: make([]finding.Examined, len(all))}
	files := newFiles()
	errs := make([]error, len(all))
	var each sync.WaitGroup
	watching := 0
	for i, t := range all {
		if t.pid != 0 {
			watching++
		}
		each.Go(func() {
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
		switch {
		case errs[i] == nil:
			kept = append(kept, d.Targets[i])
		case all[i].many:
			u.note("%s: %s", all[i].name, errs[i])
		case first == nil:
			first = lookFailure(all[i].name, errs[i])
		}
	}
	if d.Targets = kept; first != nil {
		return nil, first
	}
	if len(kept) == 0 {
		return nil, failed("nothing to look at, "+names[0], "snug ps lists the Go processes here")
	}
	d.Next = "snug ps"
	if worst := finding.Worst(kept[0].Findings); worst != "" {
		d.Next = "snug explain " + kept[0].Findings[0].ID
	}
	return d, nil
}

// lookFailure is why a process could not be looked at.
func lookFailure(name string, err error) error {
	var denied *proc.Denied
	var not *notGo
	switch {
	case errors.As(err, &denied):
		return failed(denied.Error(), denied.Hint())
	case errors.Is(err, proc.ErrGone):
		return failed("no such process, "+name, "snug ps lists the Go processes here")
	case errors.Is(err, proc.ErrNotLinux):
		return failed("looking at a process needs Linux", "files and addresses can be looked at anywhere")
	case errors.As(err, &not):
		return failed(not.Error(), "snug ps lists the Go processes here")
	}
	return err
}

// pidOf is a process number; 0 when the text is none.
func pidOf(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int(n)
}

// goProcesses are the Go processes that fit.
func goProcesses(fits func(*goproc.Facts) bool) ([]int, error) {
	pids, err := proc.Pids()
	if err != nil {
		return nil, lookFailure("/proc", err)
	}
	files := newFiles()
	var found []int
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		p, err := proc.Open(pid)
		if err != nil {
			continue
		}
		g := goproc.Look(p, files)
		if g.Err == nil && g.Exe.IsGo && fits(g) {
			found = append(found, pid)
		}
		p.Close()
	}
	return found, nil
}
