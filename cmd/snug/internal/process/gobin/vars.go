// SPDX-License-Identifier: Apache-2.0

package gobin

// Var is the address of a variable of the runtime, and how sure it is.
type Var struct {
	// Addr is 0 when it is unknown: the votes do not suffice.
	Addr uint64
	// Votes of the Of functions that were asked are for Addr; Rival are for the
	// address that came second.
	Votes, Of, Rival int
}

// Vars are the variables of the runtime that a program's set-up and its
// garbage collections can be read from.
type Vars struct {
	// GOMAXPROCS is runtime.gomaxprocs, an int32.
	GOMAXPROCS Var
	// GCController is runtime.gcController, a struct: see Layout.
	GCController Var
	// PauseTotal is runtime.memstats.pause_total_ns, a uint64: nanoseconds. See
	// Layout.NumGC and Layout.GCCPUFraction for what follows it.
	PauseTotal Var
	// CPUStats is runtime.work.cpuStats, a struct (Go 1.21 and later): see Layout.
	CPUStats Var
	// CustomGOMAXPROCS is runtime.sched.customGOMAXPROCS, a bool (Go 1.25 and
	// later): GOMAXPROCS was set by the environment or by the program.
	CustomGOMAXPROCS Var
	// Spinning is runtime.sched.nmspinning, an int32. The int32 before it, at
	// Addr-4, is sched.npidle.
	Spinning Var
}
