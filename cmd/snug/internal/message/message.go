// SPDX-License-Identifier: Apache-2.0

// Package message is how snug says things outside of documents: failures with their cure and
// exit code, and other people's words quoted in a line.
package message

import (
	"errors"
	"io/fs"
)

// Exit codes. Those of `snug run` are its own: see package fit.
const (
	ExitFine        = 0
	ExitFailed      = 1   // snug failed
	ExitUsage       = 2   // it was used wrongly
	ExitFinding     = 3   // what was asked to be fine is not
	ExitInterrupted = 130 // Ctrl-C or SIGTERM, as a shell would say it
)

// Failure is an error as it is shown: what went wrong and where, the cure, and
// the exit code.
type Failure struct {
	Code       int
	What, Hint string
}

func (f *Failure) Error() string { return f.What }

// Failed is a failure of snug itself, or of what it looked at.
func Failed(what, hint string) error { return &Failure{ExitFailed, what, hint} }

// Usage is a command line that cannot be followed.
func Usage(what, hint string) error { return &Failure{ExitUsage, what, hint} }

// Reason is an error without the path and the operation that the message of a
// path error repeats.
func Reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	return err.Error()
}

const OwnerHint = "read it as the user who owns it, or as root"
