// SPDX-License-Identifier: Apache-2.0

// Package inherit restores the signal state that this process started with and that the
// Go runtime changes before main: the ignored and the blocked signals. execve(2) would
// keep both for the command.
package inherit

// Signals is a set of ignored and one of blocked signals, signal N as bit N-1, as in
// /proc/PID/status (proc_pid_status(5)).
type Signals struct{ Ignored, Blocked uint64 }
