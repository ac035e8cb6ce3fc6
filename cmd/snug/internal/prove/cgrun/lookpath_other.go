// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cgrun

// Files returns none.
func Files(name string, env []string) []string { return nil }

// LookPath returns ErrNotSupported.
func LookPath(name string, env []string, dir string) (string, error) { return "", ErrNotSupported }
