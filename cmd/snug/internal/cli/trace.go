// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	untrusted "github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

const (
	// traceBytes bounds a trace: it is read as a stream, so only time is spent.
	traceBytes = 1 << 40
	traceHint  = "snug trace takes what runtime/trace, a flight recorder or /debug/pprof/trace?seconds=5 wrote"
)

func newTrace(u *ui) *cobra.Command {
	duration := 5 * time.Second
	var page textFlag
	cmd := &cobra.Command{
		Use:   "trace FILE|URL [FILE|URL]",
		Short: "Read figures off an execution trace: GC, stops of the world, scheduler latency, heap",
		Long: `Read figures off a Go execution trace, in one pass: run time, collections, how long
the world was stopped, the collector's share of the Ps, heap and goal, scheduler latency,
minimum mutator utilisation, what goroutines waited for. Two traces stand side by side with
their differences.

Traces of Go 1.18 and later are read, those of runtime/trace, of a flight recorder, and of
the address of net/http/pprof; compressed by gzip or not; - is standard input. One that was
cut off says what it has. Wall time and P-occupancy are told apart; CPU time is not in a trace.`,
		Example: `  snug trace trace.out
  snug trace before.out after.out
  snug trace --html trace.html http://127.0.0.1:6060/debug/pprof/trace?seconds=5`,
		GroupID: groupLook,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("takes one trace, or two to compare, "+cmd.CommandPath(), traceHint)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if duration < time.Second || duration > time.Hour {
				return usage("wrong value, --duration "+duration.String(), "write 1s to an hour")
			}
			if err := writable("--html", string(page)); err != nil {
				return err
			}
			ctx, stop := untilInterrupted()
			defer stop()
			return u.traces(ctx, args, duration, string(page))
		},
	}
	u.jsonFlag(cmd)
	cmd.Flags().Var((*spanFlag)(&duration), "duration", "trace for so `LONG` at the address of /debug/pprof")
	cmd.Flags().Var(&page, "html", "write a page with the heap, the collector and histograms to `FILE`")
	return cmd
}

// traces answers with what traces say, and writes the page if it is asked for.
func (u *ui) traces(ctx context.Context, names []string, duration time.Duration, page string) error {
	d := &finding.Trace{Head: finding.NewHead(finding.KindTrace), Traces: []finding.Traced{}}
	for _, name := range names {
		t, err := u.readTrace(ctx, name, duration)
		if err != nil {
			return err
		}
		d.Traces = append(d.Traces, *t)
		if t.Partial != nil {
			u.note("warning: the trace was not read to its end, %s, %s", *t.Partial, t.Target)
		}
	}
	switch {
	case len(names) == 2:
		d.Next = "snug bench --help"
	case page == "" && names[0] != "-" && !address(names[0]):
		d.Next = "snug trace --html trace.html " + shellQuote(names[0])
	}
	var wrong error
	if page != "" {
		d.Page = &page
		var b bytes.Buffer
		err := report.HTML(&b, d)
		if err == nil {
			err = replaceFile(page, b.Bytes())
		}
		if err != nil {
			d.Page = nil
			wrong = failed("cannot write, "+reason(err)+", "+page, roomHint)
		}
	}
	if err := u.answer(d); err != nil {
		return err
	}
	return wrong
}

// readTrace reads one trace, and shows on a terminal how far it is.
func (u *ui) readTrace(ctx context.Context, name string, duration time.Duration) (*finding.Traced, error) {
	if at, err := url.Parse(name); err == nil && address(name) && strings.HasSuffix(strings.TrimSuffix(at.Path, "/"), "/debug/pprof") {
		at.Path = strings.TrimSuffix(at.Path, "/") + "/trace"
		at.RawQuery = "seconds=" + strconv.Itoa(int(duration.Seconds()))
		name = at.String()
	}
	if address(name) {
		u.status("waiting for the trace; Ctrl-C ends it early")
		defer u.status("")
	}
	src, err := openTrace(ctx, name)
	if err != nil {
		return nil, traceFailure(err)
	}
	defer src.Close()
	t, err := traceFacts(ctx, src, src.Name, func(p exectrace.Progress) {
		u.status(fmt.Sprintf("%d MiB read, %.1f s of the program; Ctrl-C ends it early", p.Bytes>>20, p.Span.Seconds()))
	})
	u.status("")
	if err != nil {
		return nil, traceFailure(err)
	}
	t.Target = utf8Only(t.Target)
	return t, nil
}

// openTrace opens a file, "-" or an address. A server answers when it has something to
// send, which of an idle program may be at the end.
func openTrace(ctx context.Context, name string) (*untrusted.Source, error) {
	l := untrusted.Limits{Bytes: traceBytes, Unpacked: traceBytes}
	if name == "-" {
		return untrusted.Wrap(ctx, standardInput(ctx), "standard input", l)
	}
	if u, err := url.Parse(name); err == nil && address(name) {
		l.Bytes, l.Unpacked = logBytes, logBytes
		n, err := strconv.ParseFloat(u.Query().Get("seconds"), 64)
		if err != nil || n < 0 {
			n = 1 // net/http/pprof's own
		}
		l.Header = time.Duration(min(n, 3600)*1e9) + 15*time.Second
	}
	return untrusted.Open(ctx, name, l)
}

// traceFailure is why nothing can be said of a trace.
func traceFailure(err error) error {
	var format *exectrace.FormatError
	var large *exectrace.TooLargeError
	var damaged *exectrace.DamagedError
	switch {
	case errors.Is(err, context.Canceled):
		return &failure{code: exitInterrupted, what: "interrupted"}
	case errors.As(err, &format):
		return failed(err.Error(), "a newer snug may know it; go tool trace of the Go release that wrote it does")
	case errors.As(err, &large):
		return failed(err.Error(), "take a shorter one, or build the program with Go 1.22 or later, whose traces of any size are read")
	case errors.As(err, &damaged):
		return failed(err.Error(), "take it again, and end it with trace.Stop")
	case errors.Is(err, untrusted.ErrTooMuch):
		return failed(err.Error(), "take a shorter one")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EACCES):
		return failed(err.Error(), ownerHint)
	}
	return failed(err.Error(), traceHint)
}

// traceFacts are the figures of a trace that is open: for a command that meets one among
// other things, too. Errors name the target.
func traceFacts(ctx context.Context, r io.Reader, target string, progress func(exectrace.Progress)) (*finding.Traced, error) {
	s, err := exectrace.Read(ctx, r, exectrace.Options{Progress: progress})
	if err == nil {
		return traced(target, s), nil
	}
	if !strings.HasSuffix(err.Error(), ", "+target) {
		err = fmt.Errorf("%w, %s", err, target)
	}
	return nil, err
}
