// SPDX-License-Identifier: Apache-2.0

// Package look implements the commands that look at what runs or ran: ps, top, doctor,
// profile, trace.
package look

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// PSOrders are the sort orders of snug ps. Equal processes are in order of pid.
var PSOrders = map[string]func(a, b *finding.Process) int{
	"finding": func(a, b *finding.Process) int {
		return cmp.Compare(finding.Worst(b.Findings).Level(), finding.Worst(a.Findings).Level())
	},
	"pid":       func(a, b *finding.Process) int { return 0 },
	"memory":    func(a, b *finding.Process) int { return figure.Compare(b.Memory, a.Memory) },
	"throttled": func(a, b *finding.Process) int { return figure.Compare(b.Throttled, a.Throttled) },
	"procs":     func(a, b *finding.Process) int { return figure.Compare(b.GOMAXPROCS, a.GOMAXPROCS) },
}

func NewPS(u *ui.UI) *cobra.Command {
	var order string
	var wrong bool
	cmd := &cobra.Command{
		Use:   "ps [PROGRAM | PID]...",
		Short: "List the Go processes here: what they use, what they may use, what is wrong",
		Long: `List the Go processes visible from here: GOMAXPROCS and who set it, the CPU quota
and how often it throttled, memory, its limit, GOMEMLIMIT and GOGC, and the worst
finding. snug stops and changes no process, and you need not prepare one: stripped
programs work too, from Go 1.18.

P is GOMAXPROCS, the number of threads that may run Go code at a time. BY says who
set it: env, the environment; code, the program or a module in it; quota, the runtime
from the CPU quota; host, the runtime from the number of CPUs, without the quota. THROTTLED is
the share of throttled periods since the container was made. A "?" could not be read:
you must be root to read another user's process.`,
		Example: `  snug ps
  snug ps --wrong --sort memory
  snug ps server
  snug ps --json | jq '.processes[] | select(.gomaxprocs > 8)'`,
		ValidArgsFunction: completePids(math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error {
			if PSOrders[order] == nil {
				return message.Usage("--sort "+message.Typed(order)+": wrong value",
					"write finding, pid, memory, throttled or procs")
			}
			d, err := ListGo(args)
			if err != nil {
				return err
			}
			if proc.Hidden() {
				u.Note("note: processes of other users are not listed: " + proc.HiddenHint)
			}
			if wrong {
				all := len(d.Processes)
				d.Processes = slices.DeleteFunc(d.Processes, func(r finding.Process) bool {
					return finding.Worst(r.Findings).Level() < finding.SeverityWarning.Level()
				})
				if len(d.Processes) == 0 && all > 0 {
					u.Note("note: no warning for any Go process here, snug ps without --wrong lists them")
				}
			}
			slices.SortStableFunc(d.Processes, func(a, b finding.Process) int { return PSOrders[order](&a, &b) })
			d.Next = AfterPS(d.Processes)
			return u.Answer(d)
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().StringVar(&order, "sort", "finding", "`ORDER`: finding, pid, memory, throttled or procs")
	usage.Complete(cmd, "sort", slices.Sorted(maps.Keys(PSOrders))...)
	cmd.Flags().BoolVar(&wrong, "wrong", false, "list only processes with a warning or worse")
	return cmd
}

// ListGo lists all Go processes or, if there are words, those that a word names.
func ListGo(words []string) (*finding.PS, error) {
	d := &finding.PS{Head: finding.NewHead(finding.KindPS), Processes: []finding.Process{},
		Unsupported: []finding.Unsupported{}}
	k := observe.New()
	k.Guests = true
	denied := observe.Skips{}
	err := k.Each(denied, func(p *proc.Process) bool { return examine.Named(p, words) }, func(g *goproc.Facts) {
		if observe.Momentary(&g.Stat) {
			return
		}
		if g.Hint != "" {
			denied.Add(observe.Skip{Why: g.Hint}, g.Pid) // its memory
		}
		if !g.Exe.IsGo {
			d.Unsupported = append(d.Unsupported, observe.Unsupported(g))
			return
		}
		l := k.LimitsOf(g)
		f := observe.Facts(g, l)
		observe.SinceStart(f, g)
		d.Processes = append(d.Processes, observe.Row(g, l, rules.Check(f)))
	})
	if errors.Is(err, proc.ErrNotLinux) {
		return nil, message.Failed("snug ps needs Linux", "run it where the processes are")
	}
	if err != nil {
		return nil, examine.Unlisted(err)
	}
	d.Others = denied.List()
	if len(words) > 0 && len(d.Processes)+len(d.Unsupported) == 0 {
		if pid := examine.PID(words[0]); pid != 0 {
			return nil, examine.Passed(pid, k.Files)
		}
		what, hint := "no such Go process", "snug ps lists all Go processes"
		if len(denied) > 0 {
			hint = examine.MaybeDenied
		}
		for why := range denied {
			if why.Failed {
				what = "no such Go process among those that can be read"
			}
		}
		return nil, message.Failed(message.Typed(words...)+": "+what, hint)
	}
	return d, nil
}

// AfterPS returns the next command to try: to look closer at the worst process.
func AfterPS(all []finding.Process) string {
	if len(all) == 0 {
		return ""
	}
	worst := slices.MinFunc(all, func(a, b finding.Process) int { return PSOrders["finding"](&a, &b) })
	return "snug doctor " + strconv.Itoa(worst.PID)
}
