// SPDX-License-Identifier: Apache-2.0

package gobin

// Var is the address of a variable of the runtime, with its votes.
type Var struct {
	// Addr is 0 if it is unknown because the votes do not suffice.
	Addr uint64
	// Of functions voted: Votes of them for Addr, Rival for the address in second place.
	Votes, Of, Rival int
}

// Vars holds the runtime's variables with a program's settings and its garbage collections.
type Vars struct {
	// GOMAXPROCS is runtime.gomaxprocs, an int32.
	GOMAXPROCS Var
	// GCController is runtime.gcController, a struct: see Layout.
	GCController Var
	// PauseTotal is runtime.memstats.pause_total_ns, a uint64: nanoseconds. Layout.NumGC and
	// Layout.GCCPUFraction are offsets from it.
	PauseTotal Var
	// CPUStats is runtime.work.cpuStats, a struct (Go 1.21 and later): see Layout.
	CPUStats Var
	// CustomGOMAXPROCS is runtime.sched.customGOMAXPROCS, a bool (Go 1.25 and
	// later): GOMAXPROCS was set by the environment or by the program.
	CustomGOMAXPROCS Var
	// Spinning is runtime.sched.nmspinning, an int32. The int32 before it, at
	// Addr-4, is sched.npidle. Sched holds offsets from it.
	Spinning Var
	// AllGs and AllPs are runtime.allgs and runtime.allp, slices of pointers. The goroutines
	// are also the ended ones.
	AllGs, AllPs Var
}
