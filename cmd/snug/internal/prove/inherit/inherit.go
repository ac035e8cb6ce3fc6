// SPDX-License-Identifier: Apache-2.0

// Package inherit hands on what this process was started with, and what the Go
// runtime changes before main: which signals are ignored and which are blocked.
// execve(2) keeps both for the command; a Go program has lost them by then.
package inherit

// Signals is a set of ignored and one of blocked signals, signal N as bit N-1,
// as in /proc/PID/status (proc_pid_status(5)).
type Signals struct{ Ignored, Blocked uint64 }
