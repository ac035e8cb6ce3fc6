// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

// enough is the watch after which the next step is the patch.
const enough = 2 * time.Minute

// sizing holds the flags of snug size.
type sizing struct {
	duration time.Duration
	price    size.Price
	prices   flagvalue.Text // "" = the default, or that of a saved answer
	html     flagvalue.Text
	patch    bool
	old      bool // the answer is a saved one
}

// NewSize returns the command that says which container a running program needs.
func NewSize(u *ui.UI) *cobra.Command {
	f := sizing{duration: enough}
	var trials *sizeTrials
	cmd := &cobra.Command{
		Use:   "size PID|FILE | --url URL --rate N [--slo BOUND] -- CMD [ARG...]",
		Short: "Say which container a Go program needs: memory, CPU, GOMEMLIMIT, GOMAXPROCS",
		Long: `Watch a Go program under its usual load, and say which container it needs: memory limit,
GOMEMLIMIT, CPU request and limit, GOMAXPROCS, each with the reason, and what more or less
memory would cost in collections and money.

It never advises less memory than it saw the program need: what lived at most, memory that is
not Go's, and room for collections. What it cannot know, it says and adds to the answer. Watch at
the time of most load. A target is a process number or a program's name. FILE is an answer that --json
wrote: it is shown again, and decided again if there is a --price. - is standard input.

snug lint --size writes an answer into a manifest.

With a command after --, it finds the container by experiment: it starts the program in
real cgroups, loads it at a rate, watches it in the roomiest container, tries smaller
ones, and confirms by fresh runs the cheapest in which every run keeps --slo, without a
kill or a failed request. What fresh runs do not confirm it calls not shown. CMD must
serve until it gets SIGTERM. --load-cmd is as that of snug bench.

Bounds: p50, p95, p99, rps, cpu (per request), rss, peak, errors, throttled.`,
		Example: `  snug size 4711
  snug size server --for 10m --html size.html
  snug size server --json > size.json; snug size size.json --price 0.03,0.004
  snug size size.json --patch
  snug size --url http://127.0.0.1:8080/ --rate 300 --slo 'p99<50ms' -- ./server`,
		Annotations: usage.AnotherProgram(),
		Args: func(cmd *cobra.Command, args []string) error {
			if trials.asked(cmd) {
				return nil
			}
			if err := trials.unused(); err != nil {
				return err
			}
			if len(args) != 1 {
				return message.Usage(cmd.CommandPath()+": name one process", "snug ps lists the Go processes here")
			}
			return nil
		},
		ValidArgsFunction: completePids(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			least, most, hint := examine.SizeLeast, 24*time.Hour, "write 5s to a day"
			if trials.asked(cmd) {
				least, most, hint = lab.MinWatch, lab.MaxWatch, "write 10s to an hour"
			}
			if f.duration < least || f.duration > most {
				return message.Usage("--for "+f.duration.String()+": wrong value", hint)
			}
			var err error
			if f.price, err = size.ParsePrice(string(f.prices)); err != nil {
				return err
			}
			if f.patch && u.JSON {
				return message.Usage("--patch with --json", "leave one out")
			}
			if trials.asked(cmd) {
				return trials.run(cmd, args, &f)
			}
			if err := cmp.Or(outfile.Apart(outfile.File{Name: args[0]}, outfile.File{Flag: "--html", Name: string(f.html)}),
				outfile.Writable("--html", string(f.html))); err != nil {
				return err
			}
			found, err := examine.Resolve(args[0])
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return message.Failed(message.Typed(args[0])+": several processes", "name one by its number: "+numbers(found))
			}
			if examine.Address(args[0]) {
				return message.Failed(message.Typed(args[0])+": not a process", "snug ps lists the Go processes here")
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			var d *finding.Size
			if found[0].PID == 0 {
				if cmd.Flags().Changed("for") {
					return message.Usage(message.Typed(args[0])+": --for with a saved answer",
						"name a process to watch, or leave --for out")
				}
				f.old = true
				d, err = f.saved(ctx, args[0])
			} else {
				d, err = f.watch(ctx, u, args[0], &found[0])
			}
			if err != nil {
				return err
			}
			return f.answer(u, d)
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Var((*flagvalue.Span)(&f.duration), "for", "watch for `DURATION` (default 2m; 30s with a command)")
	cmd.Flags().Var(&f.prices, "price",
		"what a core and a GiB cost for the same time, as `CORE,GIB` (default AWS Fargate's, 0.04048,0.004445)")
	cmd.Flags().BoolVar(&f.patch, "patch", false, "print the resources and variables of a Kubernetes container instead")
	cmd.Flags().Var(&f.html, "html", "write a page with the curve to `FILE`")
	trials = newSizeTrials(u, cmd)
	return withPrometheus(u, cmd)
}

// numbers lists processes, the first few of them.
func numbers(of []examine.Subject) string {
	const few = 5
	var all []string
	for i := range of[:min(few, len(of))] {
		all = append(all, strconv.Itoa(of[i].PID))
	}
	if len(of) > few {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}

// watch answers for a process.
func (f *sizing) watch(ctx context.Context, u *ui.UI, target string, of *examine.Subject) (*finding.Size, error) {
	u.Status("watching " + of.Name + " for " + f.duration.String() + "; Ctrl-C ends it early")
	d, err := examine.Size(ctx, of.PID, f.duration, f.price, observe.NewFiles())
	u.Status("")
	if err != nil {
		return nil, examine.LookFailure(target, err)
	}
	d.Next = "snug size " + strconv.Itoa(of.PID) + " --for 10m"
	switch {
	case d.Memory.Why.Code == finding.SizeEndless:
		d.Next = ""
	case d.Seen.Growth.N > 0:
		d.Next = "snug profile --heap " + strconv.Itoa(of.PID)
	case len(d.Curve) > 0 && d.Seconds >= enough.Seconds():
		d.Next += " --patch"
	}
	return d, nil
}

// saved answers once more by a document, with another price if there is one.
func (f *sizing) saved(ctx context.Context, file string) (*finding.Size, error) {
	d, err := examine.ReadSize(ctx, file)
	if err != nil {
		return nil, err
	}
	if f.prices != "" && d.Search != nil {
		return nil, message.Failed(file+": found by experiment", "leave --price out, or do the experiment again with it")
	}
	if f.prices != "" {
		d, err = size.Again(d, f.price)
		switch {
		case errors.Is(err, size.ErrEarlier):
			return nil, message.Failed(file+": "+err.Error(),
				"leave --price out, or watch the program again: snug size PID --json")
		case err != nil:
			return nil, message.Failed(file+": "+err.Error(), "watch the program again: snug size PID --json")
		}
	}
	if file != "-" && d.Memory.Value != nil && d.Seen.Growth.N == 0 && (len(d.Curve) > 0 || d.Search != nil) {
		d.Next = "snug lint --size " + message.Quote(file) + " MANIFEST"
	}
	return d, nil
}

// answer prints the answer, and then writes the page, so that a full disk does not lose it.
func (f *sizing) answer(u *ui.UI, d *finding.Size) error {
	if f.patch {
		hint := "watch longer: --for 10m"
		if f.old {
			hint = "watch longer: snug size PID --for 10m --json"
		}
		if d.Search != nil {
			hint = "allow more with --slo, or less load with --rate"
		}
		text, why := content.SizePatch(d)
		if why != nil && why.Code == finding.SizeEndless {
			hint = content.SetLimit
		}
		if why != nil {
			return message.Failed("no patch: "+content.Reason(why), hint)
		}
		for _, line := range content.SizeCaveats(d) {
			u.Note("%s", line)
		}
		if err := u.Write([]byte(text)); err != nil {
			return err
		}
	} else if err := u.Answer(d); err != nil {
		return err
	}
	var name *string
	return written(string(f.html), &name, func(w io.Writer) error { return page.Write(w, d) })
}
