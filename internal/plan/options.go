// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"

	"github.com/snug-go/snug/limits"
)

// Mode is the value of the SNUG variable.
type Mode uint8

const (
	On      Mode = iota // decide and set
	Observe             // decide and report, set nothing
	Disable             // do nothing at all
)

// Variables lists everything the library and `snug run` read. ReadEnv reads the first ones,
// package follow SNUG_WATCH and SNUG_POLL, package measure SNUG_ADAPT and SNUG_GC, and package
// fit SNUG_RUN, which `snug run` sets.
var Variables = [...]string{"SNUG", "SNUG_ROUND", "SNUG_MIN_PROCS", "SNUG_MAX_PROCS", "SNUG_RESERVE_CPUS",
	"SNUG_REQUEST_FACTOR", "SNUG_GOMEMLIMIT", "SNUG_WORKERS", "SNUG_CPU_LIMIT", "SNUG_CPU_REQUEST", "SNUG_MEMORY_LIMIT",
	"SNUG_LOG",
	"SNUG_WATCH", "SNUG_ADAPT", "SNUG_POLL", "SNUG_GC",
	"SNUG_RUN"}

// numPlanVars is the number of Variables that ReadEnv reads.
const numPlanVars = 12

// ReadEnv applies the SNUG_* variables to a program's policy and hints, which they override. An
// invalid variable is reported and ignored, because it must not keep a program from starting.
// The library and `snug run` honour the same variables.
func ReadEnv(getenv func(string) string, p *Policy, h *Hints) (mode Mode, bad []limits.Warning) {
	minProcs, minRead, maxRead := p.MinProcs, false, false
	for _, name := range Variables[:numPlanVars] {
		text := getenv(name)
		if text == "" || text == "0" && name != "SNUG" { // not given: the downward API reports a missing limit as 0
			continue
		}
		ok := Set(name, text, &mode, p, h)
		minRead = minRead || ok && name == "SNUG_MIN_PROCS"
		maxRead = maxRead || ok && name == "SNUG_MAX_PROCS"
		if !ok {
			Warn(&bad, EnvInvalid, &limits.Source{File: name, Raw: text}, 0)
		}
	}
	if p.MaxProcs > 0 && p.MinProcs > p.MaxProcs {
		switch {
		case !maxRead: // the maximum is the program's, and the operator wants more
			p.MaxProcs = p.MinProcs
		case !minRead:
			p.MinProcs = p.MaxProcs
		default:
			Warn(&bad, EnvInvalid, &limits.Source{File: "SNUG_MIN_PROCS", Raw: strconv.Itoa(p.MinProcs)}, 0)
			p.MinProcs = min(minProcs, p.MaxProcs)
		}
	}
	return mode, bad
}

// Set applies the value of one variable that ReadEnv reads. It returns false and changes
// nothing if the value is invalid. The tool's flags use it too.
func Set(name, text string, mode *Mode, p *Policy, h *Hints) (ok bool) {
	switch name {
	case "SNUG":
		on, ok := ParseSwitch(text)
		switch {
		case ok && on:
			*mode = On
		case ok:
			*mode = Disable
		case lower(text) == "observe":
			*mode = Observe
		default:
			return false
		}
		return true
	case "SNUG_ROUND":
		return set(&p.Round, text, ParseRound)
	case "SNUG_MIN_PROCS":
		return set(&p.MinProcs, text, ParseProcs)
	case "SNUG_MAX_PROCS":
		return set(&p.MaxProcs, text, ParseProcs)
	case "SNUG_RESERVE_CPUS":
		return set(&p.ReserveCPUs, text, ParseCPUs)
	case "SNUG_REQUEST_FACTOR":
		return set(&p.RequestFactor, text, ParseFactor)
	case "SNUG_GOMEMLIMIT":
		return set(&p.Memory, text, ParseMemory)
	case "SNUG_WORKERS":
		return set(&p.Workers, text, ParseProcs)
	case "SNUG_LOG": // fit reads it again when it logs
		_, _, ok = ParseLog(text)
		return ok
	case "SNUG_CPU_LIMIT":
		return set(&h.CPULimit, text, ParseCPUs)
	case "SNUG_CPU_REQUEST":
		return set(&h.CPURequest, text, ParseCPUs)
	case "SNUG_MEMORY_LIMIT":
		return set(&h.MemoryLimit, text, ParseBytes)
	}
	return false
}

func set[T any](to *T, text string, parse func(string) (T, bool)) bool {
	v, ok := parse(text)
	if ok {
		*to = v
	}
	return ok
}

// Hints are limits that the operator knows and the process may not see. They can only tighten
// the limits that are read. 0 means not given.
type Hints struct {
	_           [0]func() // not comparable: no code for it
	CPULimit    float64   // cores
	CPURequest  float64   // cores; used only where there is no limit
	MemoryLimit int64     // bytes
}

// Round selects how a fraction of a core is rounded to Ps.
type Round uint8

const (
	Ceil Round = iota // as the Go runtime does
	Floor
	Nearest
)

// DefaultRequestFactor is the number of Ps per requested core if a request decides: such a pod
// may use idle CPUs beyond its request.
const DefaultRequestFactor = 2

// Policy controls decisions. The zero Policy is the default.
type Policy struct {
	_             [0]func() // not comparable: no code for it
	Round         Round
	MinProcs      int     // minimum Ps, 0 = 2 as in the Go runtime, or 1 below a quota of one core; never above affinity
	MaxProcs      int     // maximum Ps, 0 = none
	ReserveCPUs   float64 // cores to leave to other processes in the container
	RequestFactor float64 // Ps per requested core, 0 = DefaultRequestFactor
	Memory        Memory  // the part of the memory limit that Go may use
	Workers       int     // Go processes that share the memory limit, 0 = 1

	// Explicit values, used as they are.
	GOMAXPROCS int // 0 = decide
	GOGC       int // 0 = leave alone, Off = off

	// Override also sets knobs that the program itself has set.
	Override bool
}

// Want describes the form of a variable's value; it is "" for an unknown variable.
func Want(name string) string {
	switch name {
	case "SNUG":
		return "on, observe or off"
	case "SNUG_ROUND":
		return "ceil, floor or nearest"
	case "SNUG_MIN_PROCS", "SNUG_MAX_PROCS", "SNUG_WORKERS", "GOMAXPROCS":
		return "a whole number from 1 to 8192"
	case "SNUG_CPU_LIMIT", "SNUG_CPU_REQUEST", "SNUG_RESERVE_CPUS":
		return "CPUs as 1.5 or 1500m, from 0.001 to 1000000"
	case "SNUG_REQUEST_FACTOR":
		return "a number such as 1.5, above 0 and up to 1000"
	case "SNUG_MEMORY_LIMIT":
		return "a size as 512MiB, 512Mi, 1.5G or bytes, below 8 EiB"
	case "SNUG_GOMEMLIMIT":
		return "400MiB, 90%, 99%-100MiB or off"
	case "SNUG_WATCH":
		return "on or off"
	case "SNUG_LOG":
		return "on, json or off"
	case "SNUG_ADAPT":
		return "none, or some of memory,gc,cpu"
	case "SNUG_POLL":
		return "a time from 10ms to 1h"
	case "SNUG_GC":
		return "a share of the CPU time from 1% to 50%"
	case "GOMEMLIMIT":
		return "400MiB, 1GiB, bytes or off, as Go does: other units end Go programs before main"
	case "GOGC":
		return "a whole number or off"
	}
	return ""
}
