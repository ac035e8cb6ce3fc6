// SPDX-License-Identifier: Apache-2.0

package examine

import (
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

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	untrusted "github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// tracedFacts adds the figures of an execution trace to f: wall time, and how long Ps were
// held. Neither is CPU time. cut says why the trace was not read to its end; "" if it was.
func tracedFacts(ctx context.Context, f *rules.Facts, r io.Reader) (cut string, err error) {
	t, err := TraceFacts(ctx, r, f.Target, func(exectrace.Progress) {})
	if err != nil {
		return "", TraceFailure(err)
	}
	if t.Partial != nil {
		cut = *t.Partial
	}
	ofTrace(f, t)
	return cut, nil
}

func ofTrace(f *rules.Facts, t *finding.Traced) {
	const clock, held, told = "execution trace, wall time", "execution trace, P-occupancy", "execution trace"
	num := figure.New[float64]
	bytes := func(v *uint64) figure.Of[float64] {
		if v == nil {
			return figure.Of[float64]{}
		}
		return num(float64(*v), told)
	}
	w, o := &t.Wall, &t.Occupancy
	f.Seconds = figure.New(w.Run, "")
	f.HeapPeak, f.Goal = bytes(t.Heap.Peak), bytes(t.Heap.GoalLast)
	if n := len(t.Procs); n > 0 {
		f.Procs = num(float64(t.Procs[n-1].N), told)
	}
	if p := t.Goroutines.Latency.P99; p != nil {
		f.RunWait = num(*p, clock)
	}
	if o.GC != nil {
		f.GCHeld = num(*o.GC, held)
	}
	if w.Run > 0 {
		f.Cycles, f.Stopped = num(float64(w.GCs)/w.Run, told), num(w.Stopped, clock)
		if o.HeldAll != nil {
			f.Busy = num(*o.HeldAll**o.Available/w.Run, held)
		}
	}
}

// OpenTrace opens a file, "-" or an address. A server answers once it has something to send;
// for an idle program that may be at the end of the trace.
func OpenTrace(ctx context.Context, name string) (*untrusted.Source, error) {
	l, header := untrusted.Limits{Bytes: traceBytes, Unpacked: traceBytes}, headerTimeout
	if u, err := url.Parse(name); err == nil && Address(name) {
		n, err := strconv.ParseFloat(u.Query().Get("seconds"), 64)
		if err != nil || n < 0 {
			n = 1 // the default of net/http/pprof
		}
		l.Bytes, l.Unpacked, header = logBytes, logBytes, time.Duration(min(n, 3600)*1e9)+15*time.Second
	}
	return open(ctx, name, header, l)
}

// TraceFailure returns the failure for a trace that cannot be read.
func TraceFailure(err error) error {
	var format *exectrace.FormatError
	var damaged *exectrace.DamagedError
	switch {
	case errors.Is(err, context.Canceled):
		return &message.Failure{Code: message.ExitInterrupted, What: "interrupted"}
	case errors.As(err, &format):
		return message.Failed(err.Error(), "a newer snug may read it; go tool trace of the Go release that wrote it does")
	case errors.As(err, &damaged):
		return message.Failed(err.Error(), "take it again, and end it with trace.Stop")
	case errors.Is(err, untrusted.ErrTooMuch):
		return message.Failed(err.Error(), "take a shorter one")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EACCES):
		return message.Failed(err.Error(), message.OwnerHint)
	}
	return message.Failed(err.Error(), TraceHint)
}

// TraceFacts reads the figures of an open trace. Its errors name the target.
func TraceFacts(ctx context.Context, r io.Reader, target string,
	progress func(exectrace.Progress)) (*finding.Traced, error) {
	s, err := exectrace.Read(ctx, r, exectrace.Options{Progress: progress})
	if err == nil {
		return traced(target, s), nil
	}
	if !strings.HasPrefix(err.Error(), target+": ") {
		err = fmt.Errorf("%s: %w", target, err)
	}
	return nil, err
}

const (
	// traceBytes bounds the size of a trace. It is large because a trace is read as a stream.
	traceBytes = 1 << 40
	TraceHint  = "snug trace reads what runtime/trace, a flight recorder or /debug/pprof/trace?seconds=5 wrote"
)
