// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// ErrNotSupported is returned (wrapped) where commands cannot be confined at
// all: anything but Linux on amd64 and arm64.
var ErrNotSupported = errors.New("confining a command needs Linux on amd64 or arm64")

// Exit codes of a run that has no exit code of a command to pass on, as with
// env(1) and the shells.
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

// Hint returns the cure that an error of this package knows of, or "".
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// SpecError is a Spec that cannot be fulfilled anywhere.
type SpecError struct {
	What string // what is wrong, with the value
	Cure string
}

func (e *SpecError) Error() string { return e.What }

// Hint returns what to ask for instead.
func (e *SpecError) Hint() string { return e.Cure }

// ProofError is a child that is not confined as asked. It was killed before the
// command could start.
type ProofError struct {
	What string
}

func (e *ProofError) Error() string { return "not confined as asked: " + e.What }

// A Tried is one way that did not work, and why. Way is "" for what keeps every
// way from being looked for.
type Tried struct {
	Way Way
	Err error
}

// NoWayError is returned when no group could be made, or, with Spec.Own or
// Spec.NoLimit, when it failed without one. Nothing was started.
type NoWayError struct {
	Tried []Tried
	// Container says that snug is inside a container, whose own limits Spec.Own
	// would take as they are. (Spec.NoLimit needs no group anywhere.)
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

// Unwrap returns the reasons, one for each way.
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
		return e.cure + "; inside a container: its own limits hold, and can be taken as they are"
	}
	return e.cure
}

// InterruptedError is returned when a signal or the context ended Start before
// the command was running.
type InterruptedError struct {
	Signal int // 0 when it was the context
}

func (e *InterruptedError) Error() string {
	if e.Signal == 0 {
		return "interrupted before the command started"
	}
	return fmt.Sprintf("interrupted by signal %d before the command started", e.Signal)
}

// errWatchdog is a watchdog that cannot be started, or does not answer.
var errWatchdog = errors.New("no watchdog to end the command with snug")

// errSilent is a shim that ended without a word.
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
