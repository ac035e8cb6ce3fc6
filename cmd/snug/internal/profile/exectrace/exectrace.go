// SPDX-License-Identifier: Apache-2.0

// Package exectrace folds a Go execution trace (of runtime/trace, a flight
// recorder or /debug/pprof/trace) into figures. It reads the trace once, in the memory
// of about one generation of it, which is about a second of the program.
//
// A trace records when goroutines and Ps changed their state. From that follow wall
// times and P-occupancy: how long a P was held. Neither is CPU time: a thread that
// holds a P may wait for a CPU, especially in a container with a quota. The names of
// fields keep the two apart.
//
// golang.org/x/exp/trace reads the events. It has no stable API, so only this package
// imports it.
package exectrace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// The formats, by the Go release that introduced them. Older ones, which are not sequences of generations and
// can only be read whole, are not read.
const (
	firstKnown = 22
	lastKnown  = 26
)

// ErrNotTrace means that the data does not begin like an execution trace.
var ErrNotTrace = errors.New("not a Go execution trace")

// ErrCutOff is the Summary.Partial of a trace that ends early or is damaged.
var ErrCutOff = errors.New("cut off or damaged")

// FormatError is a trace in a format that cannot be read.
type FormatError struct {
	Minor int // of the format: 28 for "go 1.28"
}

func (e *FormatError) Error() string {
	switch {
	case e.Minor > lastKnown:
		return fmt.Sprintf("an execution trace in the format of Go 1.%d; the newest known format is that of Go 1.%d",
			e.Minor, lastKnown)
	case e.Minor < firstKnown:
		return fmt.Sprintf("an execution trace in the format of Go 1.%d; the oldest that is read is that of Go 1.%d",
			e.Minor, firstKnown)
	}
	return fmt.Sprintf("an execution trace in the unknown format of Go 1.%d", e.Minor)
}

// DamagedError is a trace without any readable part.
type DamagedError struct{ Why error }

func (e *DamagedError) Error() string {
	return "a damaged execution trace, or one that ends within its first second"
}

func (e *DamagedError) Unwrap() error { return e.Why }

// Options are the options of Read. The zero value has the defaults.
type Options struct {
	// Progress, if not nil, is called a few times per second.
	Progress func(Progress)
}

// Progress is the progress of Read.
type Progress struct {
	Bytes  int64 // of the trace, unpacked
	Events int64
	Span   time.Duration // of the trace covered by these
}

// Read folds the trace in r. If the trace is damaged or ends early, or if reading fails
// or ctx ends, Read returns the summary of the part before, and Summary.Partial says why.
// If that part is empty, Read returns an error of r, ctx's cause, ErrNotTrace, a
// *FormatError or a *DamagedError. It sets the process's GOGC while it runs, to limit its memory.
func Read(ctx context.Context, r io.Reader, o Options) (*Summary, error) {
	in := &input{ctx: ctx, r: r}
	br := bufio.NewReaderSize(in, 1<<20)
	minor, err := format(br)
	if err != nil {
		if in.err != nil {
			err = in.err
		}
		return nil, err
	}
	f := newFold()
	err = f.read(ctx, br, in, o.Progress)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else if in.err != nil { // the parser's error for it is less clear
		err = in.err
	}
	own := in.err != nil || ctx.Err() != nil
	if !f.hasData() {
		if !own {
			err = &DamagedError{err}
		}
		return nil, err
	}
	if err != nil && !own {
		err = fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	s := f.summary()
	s.Format, s.Bytes, s.Partial = minor, in.n, err
	return s, nil
}

// format returns the format of a trace from its first 16 bytes, "go 1.26 trace" and NULs
// (internal/trace/version).
func format(br *bufio.Reader) (minor int, err error) {
	head, err := br.Peek(16)
	if len(head) < 16 {
		if err != nil && err != io.EOF {
			return 0, err
		}
		return 0, ErrNotTrace
	}
	rest, ok := bytes.CutPrefix(head, []byte("go 1."))
	digits, end, found := bytes.Cut(rest, []byte(" trace\x00"))
	if !ok || !found || len(bytes.Trim(end, "\x00")) > 0 {
		return 0, ErrNotTrace
	}
	if minor, err = strconv.Atoi(string(digits)); err != nil || minor < 0 {
		return 0, ErrNotTrace
	}
	switch minor {
	case firstKnown, 23, 25, lastKnown:
		return minor, nil
	}
	return 0, &FormatError{minor}
}

// input counts the bytes it reads, and keeps the error of r.
type input struct {
	ctx context.Context
	r   io.Reader
	n   int64
	err error // of r, other than io.EOF
}

func (in *input) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := in.r.Read(p)
	in.n += int64(n)
	if err != nil && err != io.EOF {
		in.err = err
	}
	return n, err
}
