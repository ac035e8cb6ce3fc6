// SPDX-License-Identifier: Apache-2.0

// Package message holds what snug prints outside of documents: failures with a hint and an
// exit code, and quoted text from elsewhere.
package message

import (
	"errors"
	"io/fs"
)

// Exit codes. `snug run` has its own: see package fit.
const (
	ExitFine        = 0
	ExitFailed      = 1   // snug failed
	ExitUsage       = 2   // wrong usage
	ExitFinding     = 3   // a check failed, as with --fail-on
	ExitInterrupted = 130 // Ctrl-C or SIGTERM, as in a shell
)

// Failure is an error as snug prints it: what went wrong and where, a hint how to fix it,
// and the exit code.
type Failure struct {
	Code       int
	What, Hint string
}

func (f *Failure) Error() string { return f.What }

// Failed returns a failure of snug itself or of what it examined.
func Failed(what, hint string) error { return &Failure{ExitFailed, what, hint} }

// Usage returns a failure for a wrong command line.
func Usage(what, hint string) error { return &Failure{ExitUsage, what, hint} }

// Reason returns the text of an error without the operation and the path that a
// fs.PathError adds.
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

// OwnerHint is the hint for a file that may not be read.
const OwnerHint = "read it as the user who owns it, or as root"
