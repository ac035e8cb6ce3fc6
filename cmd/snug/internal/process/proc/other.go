// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proc

import (
	"io"
	"os"
	"time"
)

// Process is a process to read, which needs Linux.
type Process struct{ budget *Budget }

// Pids needs Linux.
func Pids() ([]int, error) { return nil, ErrNotLinux }

// ThreadTime returns 0.
func ThreadTime() time.Duration { return 0 }

// CPUTime returns 0.
func CPUTime() time.Duration { return 0 }

// Hidden returns false.
func Hidden() bool { return false }

// Open needs Linux.
func Open(int) (*Process, error) { return nil, ErrNotLinux }

// OpenWithin needs Linux.
func OpenWithin(int, *Budget) (*Process, error) { return nil, ErrNotLinux }

// Budget returns nil.
func (*Process) Budget() *Budget { return nil }

// Allow does nothing.
func (*Process) Allow(*Budget) {}

// File is an open file that a process uses.
type File struct{ *os.File }

// Close does nothing.
func (*Process) Close() {}

// Pid returns 0.
func (*Process) Pid() int { return 0 }

// First returns an empty Stat.
func (*Process) First() Stat { return Stat{} }

// Same needs Linux.
func (*Process) Same() error { return ErrNotLinux }

// KeepStat does nothing.
func (*Process) KeepStat() {}

// Stat needs Linux.
func (*Process) Stat() (Stat, error) { return Stat{}, ErrNotLinux }

// Status needs Linux.
func (*Process) Status() (Status, error) { return Status{}, ErrNotLinux }

// IO needs Linux.
func (*Process) IO() (IO, error) { return IO{}, ErrNotLinux }

// Still returns false.
func (*Process) Still(*Stat) bool { return false }

// StatAffinity needs Linux.
func (*Process) StatAffinity(int) (s Stat, cpus int, err error) { return Stat{}, 0, ErrNotLinux }

// Gather returns nil.
func (*Process) Gather([]Range, []byte) []byte { return nil }

// Groups needs Linux.
func (*Process) Groups() (string, error) { return "", ErrNotLinux }

// Affinity needs Linux.
func (*Process) Affinity(int) (int, error) { return 0, ErrNotLinux }

// Idle needs Linux.
func (*Process) Idle() (Idle, error) { return Idle{}, ErrNotLinux }

// Environ needs Linux.
func (*Process) Environ() (map[string]string, error) { return nil, ErrNotLinux }

// AuxEntry needs Linux.
func (*Process) AuxEntry() (uint64, error) { return 0, ErrNotLinux }

// RunDelay needs Linux.
func (*Process) RunDelay(int) (Delays, error) { return Delays{}, ErrNotLinux }

// Blocked needs Linux.
func (*Process) Blocked(int) (int, error) { return 0, ErrNotLinux }

// Exe needs Linux.
func (*Process) Exe() (string, bool, error) { return "", false, ErrNotLinux }

// ExeID needs Linux.
func (*Process) ExeID() (FileID, error) { return FileID{}, ErrNotLinux }

// OpenExe needs Linux.
func (*Process) OpenExe() (*File, FileID, error) { return nil, FileID{}, ErrNotLinux }

// Objects needs Linux.
func (*Process) Objects() ([]Object, error) { return nil, ErrNotLinux }

// OpenObject needs Linux.
func (*Process) OpenObject(Object) (*File, error) { return nil, ErrNotLinux }

// Memory needs Linux.
func (*Process) Memory() (io.ReaderAt, error) { return nil, ErrNotLinux }

// ExeOf needs Linux.
func ExeOf(int) (FileID, error) { return FileID{}, ErrNotLinux }

// StatOf needs Linux.
func StatOf(int) (Stat, error) { return Stat{}, ErrNotLinux }

// CodeOf needs Linux.
func CodeOf(int) int64 { return 0 }

// Files needs Linux.
func (*Process) Files() (files, code int64, err error) { return 0, 0, ErrNotLinux }

// Entries needs Linux.
func Entries() ([]Entry, error) { return nil, ErrNotLinux }
