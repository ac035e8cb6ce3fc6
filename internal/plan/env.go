// SPDX-License-Identifier: Apache-2.0

package plan

import "github.com/snug-go/snug/limits"

// Mode is what the SNUG variable asks for.
type Mode uint8

const (
	On      Mode = iota // decide and set
	Observe             // decide and report, set nothing
	Disable             // do nothing at all
)

// ReadEnv reads the SNUG_* variables over a program's own policy and hints: the
// operator wins. A variable that makes no sense is reported and ignored, because
// it must not keep a program from starting. The library and `snug run` honour
// the same ones.
func ReadEnv(getenv func(string) string, p *Policy, h *Hints) (mode Mode, bad []limits.Warning) {
	e := env{getenv: getenv}
	read(&e, "SNUG", parseMode, &mode)
	read(&e, "SNUG_ROUND", ParseRound, &p.Round)
	read(&e, "SNUG_MIN_PROCS", ParseProcs, &p.MinProcs)
	read(&e, "SNUG_MAX_PROCS", ParseProcs, &p.MaxProcs)
	read(&e, "SNUG_RESERVE_CPUS", ParseCPUs, &p.ReserveCPUs)
	read(&e, "SNUG_REQUEST_FACTOR", ParseFactor, &p.RequestFactor)
	read(&e, "SNUG_GOMEMLIMIT", ParseMemory, &p.Memory)
	read(&e, "SNUG_CPU_LIMIT", ParseCPUs, &h.CPULimit)
	read(&e, "SNUG_CPU_REQUEST", ParseCPUs, &h.CPURequest)
	read(&e, "SNUG_MEMORY_LIMIT", ParseBytes, &h.MemoryLimit)
	return mode, e.bad
}

type env struct {
	getenv func(string) string
	bad    []limits.Warning
}

func read[T any](e *env, name string, parse func(string) (T, bool), to *T) {
	text := e.getenv(name)
	if text == "" {
		return
	}
	if v, ok := parse(text); ok {
		*to = v
	} else {
		e.invalid(name, text)
	}
}

//go:noinline
func (e *env) invalid(name, text string) {
	e.bad = append(e.bad, limits.Warning{Code: EnvInvalid, Source: limits.Source{File: name, Raw: text}})
}

func parseMode(text string) (Mode, bool) {
	switch text {
	case "on":
		return On, true
	case "observe":
		return Observe, true
	case "off":
		return Disable, true
	}
	return 0, false
}
