// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func NewDoctor(u *ui.UI) *cobra.Command {
	var fails usage.FailOn
	duration, verbose := 10*time.Second, false
	cmd := &cobra.Command{
		Use:   "doctor TARGET...",
		Short: "Say what is wrong with a running Go process, with evidence and the fix",
		Long: `Watch Go processes for a while and report what does not fit: settings and limits,
what they cost, and what to set instead. A target is a process number, a program's
name, a container's id or cgroup directory (every Go process in it), or what a process
left behind: a CPU profile, an execution trace, a log with gctrace or schedtrace lines,
a Prometheus /metrics page or a pprof address. Of two documents that snug doctor --json
wrote it says which findings came, stayed and went; the exit code is that of the second.

snug stops and changes nothing, and you need not prepare a process. It reads the
runtime's own figures from memory, samples CPU time by perf events (99 Hz) if that is
allowed, and reads the kernel's counters for threads and the container.

It exits with 3 if a finding is at least as severe as --fail-on. -v shows every figure
and how it was read; snug explain WORD explains a word.`,
		Example: `  snug doctor 4711
  snug doctor server --duration 30s
  snug doctor cpu.pprof
  snug doctor 4711 --json > before.json; snug doctor before.json after.json
  snug doctor http://127.0.0.1:6060/metrics
  snug doctor $(docker inspect -f '{{.State.Pid}}' NAME) --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return message.Usage(cmd.CommandPath()+": target missing", "snug ps lists the Go processes here")
			}
			return nil
		},
		ValidArgsFunction: completePids(math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error {
			minSeverity, err := fails.Least()
			if err != nil {
				return err
			}
			if duration < 0 || duration > time.Hour {
				return message.Usage("--duration "+duration.String()+": wrong value", "0 looks once; the maximum is an hour")
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			if saved(ctx, args) {
				return compareSaved(ctx, u, args, minSeverity)
			}
			d, wrong := doctor(ctx, u, args, duration)
			if d != nil {
				// A failed target does not hide the findings of the others.
				if err := diagnosed(u, d, verbose); err != nil {
					return err
				}
			}
			if wrong != nil {
				return wrong
			}
			if minSeverity != "" && d.Worst().Level() >= minSeverity.Level() {
				return &message.Failure{Code: message.ExitFinding}
			}
			return nil
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Var((*flagvalue.Span)(&duration), "duration", "watch processes for `DURATION`; 0 looks once")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "all figures, and how they were read")
	fails.Add(cmd)
	return cmd
}

// diagnosed prints a diagnosis; verbose applies to text only.
func diagnosed(u *ui.UI, d *finding.Doctor, verbose bool) error {
	if !verbose || u.JSON {
		return u.Answer(d)
	}
	var b bytes.Buffer
	if err := text.DoctorVerbose(&b, d); err != nil {
		return err
	}
	return u.Write(b.Bytes())
}

// maxAtOnce bounds how many processes are examined at once: each is sampled 99 times, and
// its Ps are counted 1000 times, per second.
const maxAtOnce = 16

// doctor examines the targets, up to maxAtOnce at a time. If it returns an error, the
// document holds the targets that could be examined; it is nil if none could.
func doctor(ctx context.Context, u *ui.UI, names []string, duration time.Duration) (*finding.Doctor, error) {
	var all []examine.Subject
	for _, name := range names {
		found, err := examine.Resolve(name)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !slices.ContainsFunc(all,
				func(s examine.Subject) bool { return s.PID == t.PID && (s.PID != 0 || s.Name == t.Name) }) {
				all = append(all, t)
			}
		}
	}
	d := &finding.Doctor{Head: finding.NewHead(finding.KindDoctor), Targets: make([]finding.Examined, len(all))}
	files := observe.NewFiles()
	errs := make([]error, len(all))
	var each sync.WaitGroup
	watching := 0
	turn := make(chan struct{}, maxAtOnce)
	for i, t := range all {
		if t.PID != 0 {
			watching++
		}
		each.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			var e *finding.Examined
			if t.PID != 0 {
				e, errs[i] = examine.Process(ctx, t.PID, duration, files)
			} else {
				e, errs[i] = examine.Input(ctx, t.Name, duration)
			}
			if e != nil {
				d.Targets[i] = *e
			}
		})
	}
	if watching > 0 && duration > 0 {
		u.Status("watching " + units.Plural(watching, "process") + " for " + duration.String() + "; Ctrl-C ends it early")
	}
	each.Wait()
	u.Status("")
	kept := d.Targets[:0]
	var first error
	for i := range all {
		if d.Targets[i].Kind != "" {
			kept = append(kept, d.Targets[i])
		}
		switch {
		case errs[i] == nil:
		case all[i].Many:
			u.Note("%s: %s", all[i].Name, errs[i])
		case first == nil:
			first = examine.LookFailure(all[i].Name, errs[i])
		default:
			u.Note("error: %s", examine.LookFailure(all[i].Name, errs[i]))
		}
	}
	d.Targets = kept
	if len(kept) == 0 && first != nil {
		return nil, first
	}
	if len(kept) == 0 {
		return nil, message.Failed(names[0]+": nothing to look at", "snug ps lists the Go processes here")
	}
	d.Next = "snug ps"
	if worst := finding.Worst(kept[0].Findings); worst != "" {
		d.Next = "snug explain " + kept[0].Findings[0].ID
	}
	return d, first
}
