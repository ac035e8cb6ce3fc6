// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"

	"github.com/snug-go/snug/limits"
)

// Mode is what the SNUG variable asks for.
type Mode uint8

const (
	On      Mode = iota // decide and set
	Observe             // decide and report, set nothing
	Disable             // do nothing at all
)

// Variables are all that the library and `snug run` read. ReadEnv reads the first, package
// follow SNUG_WATCH and SNUG_POLL, package watch SNUG_ADAPT and SNUG_GC, and package fit
// SNUG_RUN, which `snug run` sets.
var Variables = [...]string{"SNUG", "SNUG_ROUND", "SNUG_MIN_PROCS", "SNUG_MAX_PROCS", "SNUG_RESERVE_CPUS",
	"SNUG_REQUEST_FACTOR", "SNUG_GOMEMLIMIT", "SNUG_WORKERS", "SNUG_CPU_LIMIT", "SNUG_CPU_REQUEST", "SNUG_MEMORY_LIMIT", "SNUG_LOG",
	"SNUG_WATCH", "SNUG_ADAPT", "SNUG_POLL", "SNUG_GC",
	"SNUG_RUN"}

// ours is how many of Variables ReadEnv reads.
const ours = 12

// ReadEnv reads the SNUG_* variables over a program's own policy and hints: the
// operator wins. A variable that makes no sense is reported and ignored, because
// it must not keep a program from starting. The library and `snug run` honour
// the same ones.
func ReadEnv(getenv func(string) string, p *Policy, h *Hints) (mode Mode, bad []limits.Warning) {
	least, minRead, maxRead := p.MinProcs, false, false
	for _, name := range Variables[:ours] {
		text := getenv(name)
		if text == "" || text == "0" && name != "SNUG" { // not given, as the downward API says it
			continue
		}
		ok := Set(name, text, &mode, p, h)
		minRead = minRead || ok && name == "SNUG_MIN_PROCS"
		maxRead = maxRead || ok && name == "SNUG_MAX_PROCS"
		if !ok {
			Warn(&bad, EnvInvalid, &limits.Source{File: name, Raw: text})
		}
	}
	if p.MaxProcs > 0 && p.MinProcs > p.MaxProcs {
		switch {
		case !maxRead: // the program's, and the operator wants more
			p.MaxProcs = p.MinProcs
		case !minRead:
			p.MinProcs = p.MaxProcs
		default:
			Warn(&bad, EnvInvalid, &limits.Source{File: "SNUG_MIN_PROCS", Raw: strconv.Itoa(p.MinProcs)})
			p.MinProcs = min(least, p.MaxProcs)
		}
	}
	return mode, bad
}

// Set takes what one of the variables that ReadEnv reads says. It is false, and nothing is
// changed, for text that makes no sense. A flag of the tool is read by it too.
func Set(name, text string, mode *Mode, p *Policy, h *Hints) (ok bool) {
	switch name {
	case "SNUG":
		return set(mode, text, parseMode)
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
	case "SNUG_LOG": // fit asks again when it logs
		_, ok = ParseSwitch(text)
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

func parseMode(text string) (Mode, bool) {
	if on, ok := ParseSwitch(text); ok {
		if on {
			return On, true
		}
		return Disable, true
	}
	return Observe, lower(text) == "observe"
}

// Hints are what the operator knows and the process may not see. They only
// tighten what is visible. 0 means not given.
type Hints struct {
	CPULimit    float64 // cores
	CPURequest  float64 // cores; counts only where there is no limit
	MemoryLimit int64   // bytes
}

// Round is how a fraction of a core becomes Ps.
type Round uint8

const (
	Ceil Round = iota // the Go runtime's own rule
	Floor
	Nearest
)

// DefaultRequestFactor is how many Ps a requested core is worth where a
// request decides: such a pod may use idle CPUs beyond it.
const DefaultRequestFactor = 2

// Policy is how to decide. The zero Policy is the default.
type Policy struct {
	Round         Round
	MinProcs      int     // at least this many Ps, 0 = 2 as the Go runtime has it; never above affinity
	MaxProcs      int     // at most this many Ps, 0 = no such limit
	ReserveCPUs   float64 // cores to leave to other processes in the container
	RequestFactor float64 // Ps per requested core, 0 = DefaultRequestFactor
	Memory        Memory  // what of the memory limit Go may use
	Workers       int     // Go processes that share the memory limit, 0 = 1

	// Values given outright. They are taken as they are.
	GOMAXPROCS int // 0 = decide
	GOGC       int // 0 = leave alone, Off = off

	// Override takes knobs that the program itself has set.
	Override bool
}

// Want says what a variable's value looks like, "" for an unknown variable.
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
	case "SNUG_WATCH", "SNUG_LOG":
		return "on or off"
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
