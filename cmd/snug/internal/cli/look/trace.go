// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

func NewTrace(u *ui.UI) *cobra.Command {
	duration := 5 * time.Second
	var page flagvalue.Text
	cmd := &cobra.Command{
		Use:   "trace FILE|URL [FILE|URL]",
		Short: "Read figures from an execution trace: GC, stops of the world, scheduler latency, heap",
		Long: `Read figures from a Go execution trace, in one pass: run time, collections, how long
the world was stopped, the collector's share of the Ps (a P is the right to run Go code;
GOMAXPROCS is how many there are), heap and goal, scheduler latency, minimum mutator
utilisation, what goroutines waited for. Two traces are shown side by side with their
differences.

snug reads traces of Go 1.18 and later, from runtime/trace, a flight recorder, or the
address of net/http/pprof, compressed by gzip or not; - is standard input. Of a trace that
was cut off it shows what is there. It keeps wall time and P-occupancy apart; a trace has no
CPU time.`,
		Example: `  snug trace trace.out
  snug trace before.out after.out
  snug trace --html trace.html http://127.0.0.1:6060/debug/pprof/trace?seconds=5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return message.Usage(cmd.CommandPath()+": takes one trace, or two to compare", examine.TraceHint)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if duration < time.Second || duration > time.Hour {
				return message.Usage("--duration "+duration.String()+": wrong value", "write 1s to an hour")
			}
			files := []outfile.File{{Flag: "--html", Name: string(page)}}
			for _, name := range args {
				files = append(files, outfile.File{Name: name})
			}
			if err := cmp.Or(outfile.Apart(files...), outfile.Writable("--html", string(page))); err != nil {
				return err
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			return traces(u, ctx, args, duration, string(page))
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Var((*flagvalue.Span)(&duration), "duration", "trace for `DURATION` at the address of /debug/pprof")
	cmd.Flags().Var(&page, "html", "write a page with the Ps, the heap, the collector and histograms to `FILE`")
	return cmd
}

// traces prints the figures of the traces and writes the page if file is set.
func traces(u *ui.UI, ctx context.Context, names []string, duration time.Duration, file string) error {
	d := &finding.Trace{Head: finding.NewHead(finding.KindTrace), Traces: []finding.Traced{}}
	for _, name := range names {
		t, err := readTrace(u, ctx, name, duration)
		if err != nil {
			return err
		}
		d.Traces = append(d.Traces, *t)
		if t.Partial != nil {
			u.Note("warning: the trace was not read to its end, %s, %s", *t.Partial, t.Target)
		}
	}
	switch {
	case len(names) == 2:
		d.Next = "snug bench --help"
	case file == "" && names[0] != "-" && !examine.Address(names[0]):
		d.Next = "snug trace --html trace.html " + message.Quote(names[0])
	}
	var wrong error
	if file != "" {
		d.Page = &file
		var b bytes.Buffer
		err := page.Write(&b, d)
		if err == nil {
			err = outfile.Replace(file, b.Bytes())
		}
		if err != nil {
			d.Page = nil
			wrong = outfile.Failed(err, file)
		}
	}
	if err := u.Answer(d); err != nil {
		return err
	}
	return wrong
}

// readTrace reads one trace and shows its progress on a terminal.
func readTrace(u *ui.UI, ctx context.Context, name string, duration time.Duration) (*finding.Traced, error) {
	if at, err := url.Parse(name); err == nil && examine.Address(name) &&
		strings.HasSuffix(strings.TrimSuffix(at.Path, "/"), "/debug/pprof") {
		at.Path = strings.TrimSuffix(at.Path, "/") + "/trace"
		at.RawQuery = "seconds=" + strconv.Itoa(int(duration.Seconds()))
		name = at.String()
	}
	if examine.Address(name) {
		u.Status("waiting for the trace; Ctrl-C ends it early")
		defer u.Status("")
	}
	src, err := examine.OpenTrace(ctx, name)
	if err != nil {
		return nil, examine.TraceFailure(err)
	}
	defer src.Close()
	t, err := examine.TraceFacts(ctx, src, src.Name, func(p exectrace.Progress) {
		u.Status(fmt.Sprintf("%d MiB read, %.1f s of the program; Ctrl-C ends it early", p.Bytes>>20, p.Span.Seconds()))
	})
	u.Status("")
	if err != nil {
		return nil, examine.TraceFailure(err)
	}
	t.Target = finding.UTF8(t.Target)
	return t, nil
}
