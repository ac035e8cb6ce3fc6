// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proc

import (
	"io"
	"os"
	"time"
)

// Process is a process to read, which needs Linux. So do all functions and methods here: they return nothing, or
// ErrNotLinux where they have an error.
type Process struct{ budget *Budget }

// File is an open file that a process uses.
type File struct{ *os.File }

func Pids() ([]int, error)                                      { return nil, ErrNotLinux }
func ThreadTime() time.Duration                                 { return 0 }
func CPUTime() time.Duration                                    { return 0 }
func Hidden() bool                                              { return false }
func Open(int) (*Process, error)                                { return nil, ErrNotLinux }
func OpenWithin(int, *Budget) (*Process, error)                 { return nil, ErrNotLinux }
func (*Process) Budget() *Budget                                { return nil }
func (*Process) Allow(*Budget)                                  {}
func (*Process) Close()                                         {}
func (*Process) Pid() int                                       { return 0 }
func (*Process) First() Stat                                    { return Stat{} }
func (*Process) Same() error                                    { return ErrNotLinux }
func (*Process) KeepStat()                                      {}
func (*Process) Stat() (Stat, error)                            { return Stat{}, ErrNotLinux }
func (*Process) Status() (Status, error)                        { return Status{}, ErrNotLinux }
func (*Process) IO() (IO, error)                                { return IO{}, ErrNotLinux }
func (*Process) Still(*Stat) bool                               { return false }
func (*Process) StatAffinity(int) (s Stat, cpus int, err error) { return Stat{}, 0, ErrNotLinux }
func (*Process) Gather([]Range, []byte) []byte                  { return nil }
func (*Process) Groups() (string, error)                        { return "", ErrNotLinux }
func (*Process) Affinity(int) (int, error)                      { return 0, ErrNotLinux }
func (*Process) Idle() (Idle, error)                            { return Idle{}, ErrNotLinux }
func (*Process) Environ() (map[string]string, error)            { return nil, ErrNotLinux }
func (*Process) AuxEntry() (uint64, error)                      { return 0, ErrNotLinux }
func (*Process) RunDelay(int) (Delays, error)                   { return Delays{}, ErrNotLinux }
func (*Process) Blocked(int) (int, error)                       { return 0, ErrNotLinux }
func (*Process) Exe() (string, bool, error)                     { return "", false, ErrNotLinux }
func (*Process) ExeID() (FileID, error)                         { return FileID{}, ErrNotLinux }
func (*Process) OpenExe() (*File, FileID, error)                { return nil, FileID{}, ErrNotLinux }
func (*Process) Objects() ([]Object, error)                     { return nil, ErrNotLinux }
func (*Process) OpenObject(Object) (*File, error)               { return nil, ErrNotLinux }
func (*Process) Memory() (io.ReaderAt, error)                   { return nil, ErrNotLinux }
func ExeOf(int) (FileID, error)                                 { return FileID{}, ErrNotLinux }
func StatOf(int) (Stat, error)                                  { return Stat{}, ErrNotLinux }
func CodeOf(int) int64                                          { return 0 }
func (*Process) Files() (files, code int64, err error)          { return 0, 0, ErrNotLinux }
func Entries() ([]Entry, error)                                 { return nil, ErrNotLinux }
