// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/top"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// topOptions are how snug top was called.
type topOptions struct {
	words    []string
	interval time.Duration
	sort     string
	frames   int // 0 = until it is ended
	batch    bool
	attended bool // another snug waits for this one, to put the terminal in order
}

// leastInterval keeps snug top from being what is seen in snug top.
const leastInterval = 100 * time.Millisecond

func newTop(u *ui) *cobra.Command {
	o := topOptions{interval: 2 * time.Second, sort: "cpu"}
	cmd := &cobra.Command{
		Use:   "top [PROGRAM | PID]...",
		Short: "Watch Go processes live: GC, throttling, heap, waiting, and what is wrong",
		Long: `Watch Go processes live, as top does: the CPU they use and wait for, how much of
their quota's time they are throttled, garbage collection, the heap on its way to its
goal and limit, and Ps at work. Enter shows what is wrong with a process and the fix;
? explains keys and columns.

Nothing is stopped or changed, and no process has to be prepared. What may not be read
shows as "?". Without a terminal, --batch, -n and --json print one look after the
other. When all processes that were asked for by number have ended, that is the end; the
screen keeps their last figures until q.`,
		Example: `  snug top
  snug top server 4711
  snug top --interval 500ms --sort gc
  snug top -n 1
  snug top --json -n 60 >looks.jsonl`,
		GroupID:           groupLook,
		ValidArgsFunction: completePids(math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = args
			switch {
			case o.interval < leastInterval || o.interval > time.Hour:
				return usage("wrong value, --interval "+o.interval.String(), "100ms is the least, an hour the most")
			case !slices.Contains(top.Orders(), o.sort):
				return usage("wrong value, --sort "+typed(o.sort), "write "+strings.Join(top.Orders(), ", "))
			case o.frames < 0 || cmd.Flags().Changed("number") && o.frames == 0:
				return usage("wrong value, --number "+strconv.Itoa(o.frames), "write a number from 1 on")
			}
			if o.batch || o.frames > 0 || u.json {
				return u.topFrames(&o)
			}
			return u.topLive(&o)
		},
	}
	u.jsonFlag(cmd)
	cmd.Flags().Lookup("json").Usage = "print one JSON document for each look"
	cmd.Flags().VarP((*spanFlag)(&o.interval), "interval", "d", "look again after so `LONG`")
	cmd.Flags().StringVar(&o.sort, "sort", o.sort, "sort by `COLUMN`: "+strings.Join(top.Orders(), ", "))
	cmd.Flags().BoolVarP(&o.batch, "batch", "b", false, "print looks as text, one after the other")
	cmd.Flags().IntVarP(&o.frames, "number", "n", 0, "print so `MANY` looks and end")
	cmd.Flags().BoolVar(&o.attended, "attended", false, "")
	_ = cmd.Flags().MarkHidden("attended")
	return cmd
}

// topFrames prints looks, each of one interval.
func (u *ui) topFrames(o *topOptions) error {
	w, err := newWatcher(o.words, o.attended)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.first(); err != nil {
		return err
	}
	ctx, stop := untilInterrupted()
	defer stop()
	beat := time.NewTicker(o.interval)
	defer beat.Stop()
	view := top.New(top.Options{ASCII: !utf8Locale(u.getenv), Sort: o.sort, Interval: o.interval})
	for n := 0; o.frames == 0 || n < o.frames; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
		d, err := w.look()
		if err != nil {
			return err
		}
		view.Update(d)
		if err := u.topFrame(view, d, n > 0); err != nil {
			return err
		}
		if said := view.Over(); said != "" {
			u.note("note: %s", said)
			return nil
		}
	}
	return nil
}

// topFrame prints one look, as one of several with a blank line before the next.
func (u *ui) topFrame(view *top.View, d *finding.Watch, further bool) error {
	if u.json {
		return u.answer(d)
	}
	text := view.Plain(u.columns())
	if further {
		text = "\n" + text
	}
	return u.write([]byte(text))
}

// looks looks until ctx ends, or all that were asked for have; at first soon after the
// first look.
func (w *watcher) looks(ctx context.Context, interval time.Duration, retime <-chan time.Duration, to chan<- *finding.Watch) error {
	d, err := w.first()
	next := time.NewTimer(min(interval, time.Second))
	defer next.Stop()
	for err == nil {
		select {
		case to <- d:
		case <-ctx.Done():
			return nil
		}
		if d.Over() {
			return nil
		}
	wait:
		for {
			select {
			case <-ctx.Done():
				return nil
			case interval = <-retime:
				next.Reset(interval)
			case <-next.C:
				break wait
			}
		}
		next.Reset(interval)
		d, err = w.look()
	}
	return err
}

// utf8Locale reports whether the locale's character set is UTF-8. Source: locale(7),
// charsets(7): LC_ALL wins over LC_CTYPE, that over LANG.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
