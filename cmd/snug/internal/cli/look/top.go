// SPDX-License-Identifier: Apache-2.0

package look

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/top"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// topOptions are the arguments and flags of snug top.
type topOptions struct {
	words    []string
	interval time.Duration
	sort     string
	frames   int // 0 = until interrupted
	batch    bool
	attended bool // a parent snug waits for this process, to restore the terminal
}

// minInterval keeps snug top from becoming the load that it shows.
const minInterval = 100 * time.Millisecond

func NewTop(u *ui.UI) *cobra.Command {
	o := topOptions{interval: 2 * time.Second, sort: "cpu"}
	cmd := &cobra.Command{
		Use:   "top [PROGRAM | PID]...",
		Short: "Watch Go processes live: GC, throttling, heap, waiting, and what is wrong",
		Long: `Watch Go processes live, as top does: the CPU time they use and wait for, the share
of throttled periods, garbage collection, the heap on its way to its goal and limit, and
busy Ps (a P is the right to run Go code; GOMAXPROCS is how many there are). Enter shows
what is wrong with a process and the fix; ? explains keys and columns.

snug stops and changes nothing, and you need not prepare a process. What may not be read
shows as "?". Without a terminal, use --batch, -n or --json, which print one look after
the other. If you name processes by number, snug top ends when all of them have ended;
the screen keeps their last figures until you press q.`,
		Example: `  snug top
  snug top server 4711
  snug top --interval 500ms --sort gc
  snug top -n 1
  snug top --json -n 60 >looks.jsonl`,
		ValidArgsFunction: completePids(math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = args
			switch {
			case o.interval < minInterval || o.interval > time.Hour:
				return message.Usage("--interval "+o.interval.String()+": wrong value", "write 100ms to an hour")
			case !slices.Contains(top.Orders(), o.sort):
				return message.Usage("--sort "+message.Typed(o.sort)+": wrong value", "write "+strings.Join(top.Orders(), ", "))
			case o.frames < 0 || cmd.Flags().Changed("number") && o.frames == 0:
				return message.Usage("--number "+strconv.Itoa(o.frames)+": wrong value", "write 1 or more")
			}
			if o.batch || o.frames > 0 || u.JSON {
				return topFrames(u, &o)
			}
			return topLive(u, &o)
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Lookup("json").Usage = "print one JSON document for each look"
	cmd.Flags().VarP((*flagvalue.Span)(&o.interval), "interval", "d", "look again every `DURATION`")
	cmd.Flags().StringVar(&o.sort, "sort", o.sort, "sort by `COLUMN`: "+strings.Join(top.Orders(), ", "))
	usage.Complete(cmd, "sort", top.Orders()...)
	cmd.Flags().BoolVarP(&o.batch, "batch", "b", false, "print looks as text, one after the other")
	cmd.Flags().IntVarP(&o.frames, "number", "n", 0, "print `N` looks and end")
	cmd.Flags().BoolVar(&o.attended, "attended", false, "")
	_ = cmd.Flags().MarkHidden("attended")
	return cmd
}

// topFrames prints one look for each interval.
func topFrames(u *ui.UI, o *topOptions) error {
	w, err := top.NewWatcher(o.words, o.attended)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.First(); err != nil {
		return err
	}
	ctx, stop := ui.UntilInterrupted()
	defer stop()
	beat := time.NewTicker(o.interval)
	defer beat.Stop()
	view := top.New(top.Options{ASCII: !ui.UTF8Locale(u.Getenv), Sort: o.sort, Interval: o.interval})
	for n := 0; o.frames == 0 || n < o.frames; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
		d, err := w.Look()
		if err != nil {
			return err
		}
		view.Update(d)
		if err := u.Frame(view.Plain, d, n > 0); err != nil {
			return err
		}
		if said := view.Over(); said != "" {
			u.Note("note: %s", said)
			return nil
		}
	}
	return nil
}
