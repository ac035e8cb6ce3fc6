// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !(amd64 || arm64)

package cgrun

import (
	"context"
	"os"
	"syscall"
)

// ChildMain does nothing on this system.
func ChildMain() {}

// A Child is a confined command; there is none on this system.
type Child struct {
	Confinement Confinement
	AtStart     Usage
}

// PID returns 0.
func (c *Child) PID() int { return 0 }

// Signal returns ErrNotSupported.
func (c *Child) Signal(syscall.Signal) error { return ErrNotSupported }

// SignalGroup does nothing.
func (c *Child) SignalGroup(syscall.Signal) {}

// Wait returns ErrNotSupported.
func (c *Child) Wait() (Exit, error) { return Exit{}, ErrNotSupported }

// Usage returns nothing.
func (c *Child) Usage() Usage { return Usage{} }

// Remove returns ErrNotSupported.
func (c *Child) Remove() (leftovers int, err error) { return 0, ErrNotSupported }

// Start returns ErrNotSupported.
func Start(context.Context, Spec) (*Child, error) { return nil, ErrNotSupported }

// Catch returns ErrNotSupported.
func Catch() error { return ErrNotSupported }

// Foreground returns ErrNotSupported.
func Foreground(Spec) (Result, error) { return Result{}, ErrNotSupported }

// Finish ends this process with the exit code.
func (e Exit) Finish() { os.Exit(e.Code) }
