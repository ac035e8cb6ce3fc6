// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// ErrNotSupported is returned (wrapped) on every system except Linux on amd64 and
// arm64.
var ErrNotSupported = errors.New("confining a command needs Linux on amd64 or arm64")

// Exit codes of a run whose command did not start, as in env(1) and the shells.
const (
	CodeFailed     = 125 // snug failed, or was used wrongly
	CodeCannotExec = 126 // the command was found and cannot be executed
	CodeNotFound   = 127 // the command was not found
)

// ExitCode returns the exit code for an error of this package: 126 and 127 for
// an ExecError, 0 for nil, else 125.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*ExecError](err); ok {
		return e.Code
	}
	return CodeFailed
}

// Hint returns what helps against an error of this package, or "".
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// SpecError is a Spec that no machine can fulfil.
type SpecError struct {
	What string // what is wrong, with the value
	Cure string
}

func (e *SpecError) Error() string { return e.What }

// Hint returns what to ask for instead.
func (e *SpecError) Hint() string { return e.Cure }

// ProofError is a child that is not confined as the Spec asks. It was killed before
// the command started.
type ProofError struct {
	What string
}

func (e *ProofError) Error() string { return "not confined as asked: " + e.What }

// A Tried is a way that failed, and why. Way is "" for an error that prevents
// all ways.
type Tried struct {
	Way Way
	Err error
}

// NoWayError is returned if no group could be made, or if a start with Spec.Own or
// Spec.NoLimit failed. Nothing was started.
type NoWayError struct {
	Tried []Tried
	// Container reports that snug is inside a container, where Spec.Own would run the
	// command within the container's limits. (Spec.NoLimit never needs a group.)
	Container bool

	cure string
}

func (e *NoWayError) Error() string {
	var b strings.Builder
	b.WriteString("no cgroup can be made here")
	if slices.ContainsFunc(e.Tried, func(t Tried) bool { return t.Way == WayContainer || t.Way == WayNone }) {
		b.Reset()
		b.WriteString("cannot be started without a cgroup of its own")
	}
	for i, t := range e.Tried {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		if t.Way != "" {
			fmt.Fprintf(&b, "%s: ", t.Way)
		}
		fmt.Fprint(&b, t.Err)
	}
	return b.String()
}

// Unwrap returns the reasons, one per way.
func (e *NoWayError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, t := range e.Tried {
		errs[i] = t.Err
	}
	return errs
}

// Hint returns what would make it work.
func (e *NoWayError) Hint() string {
	if e.Container {
		return e.cure + "; inside a container: the command can run within the container's own limits"
	}
	return e.cure
}

// InterruptedError is returned if a signal or the context ended Start before
// the command was running.
type InterruptedError struct {
	Signal int // 0 if it was the context
}

func (e *InterruptedError) Error() string {
	if e.Signal == 0 {
		return "interrupted before the command started"
	}
	return fmt.Sprintf("interrupted by signal %d before the command started", e.Signal)
}

// errWatchdog is a watchdog that cannot be started, or does not answer.
var errWatchdog = errors.New("the watchdog that ends the command with snug does not work")

// errSilent is a shim that ended without a report.
type errSilent struct{ exit Exit }

func (e *errSilent) Error() string {
	if e.exit.Signal == int(syscall.SIGKILL) {
		return "killed while it was being confined; the memory limit may be too small"
	}
	if e.exit.Signal != 0 {
		return fmt.Sprintf("ended by signal %d while it was being confined", e.exit.Signal)
	}
	return fmt.Sprintf("ended with code %d while it was being confined", e.exit.Code)
}
