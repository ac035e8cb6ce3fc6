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

// variables are those that ReadEnv reads.
var variables = [...]string{"SNUG", "SNUG_ROUND", "SNUG_MIN_PROCS", "SNUG_MAX_PROCS", "SNUG_RESERVE_CPUS",
	"SNUG_REQUEST_FACTOR", "SNUG_GOMEMLIMIT", "SNUG_CPU_LIMIT", "SNUG_CPU_REQUEST", "SNUG_MEMORY_LIMIT"}

// ReadEnv reads the SNUG_* variables over a program's own policy and hints: the
// operator wins. A variable that makes no sense is reported and ignored, because
// it must not keep a program from starting. The library and `snug run` honour
// the same ones.
func ReadEnv(getenv func(string) string, p *Policy, h *Hints) (mode Mode, bad []limits.Warning) {
	for _, name := range &variables {
		text := getenv(name)
		if text == "" || text == "0" && name != "SNUG" { // not given, as the downward API says it
			continue
		}
		ok := false
		switch name {
		case "SNUG":
			ok = set(&mode, text, parseMode)
		case "SNUG_ROUND":
			ok = set(&p.Round, text, ParseRound)
		case "SNUG_MIN_PROCS":
			ok = set(&p.MinProcs, text, ParseProcs)
		case "SNUG_MAX_PROCS":
			ok = set(&p.MaxProcs, text, ParseProcs)
		case "SNUG_RESERVE_CPUS":
			ok = set(&p.ReserveCPUs, text, ParseCPUs)
		case "SNUG_REQUEST_FACTOR":
			ok = set(&p.RequestFactor, text, ParseFactor)
		case "SNUG_GOMEMLIMIT":
			ok = set(&p.Memory, text, ParseMemory)
		case "SNUG_CPU_LIMIT":
			ok = set(&h.CPULimit, text, ParseCPUs)
		case "SNUG_CPU_REQUEST":
			ok = set(&h.CPURequest, text, ParseCPUs)
		case "SNUG_MEMORY_LIMIT":
			ok = set(&h.MemoryLimit, text, ParseBytes)
		}
		if !ok {
			warn(&bad, EnvInvalid, &limits.Source{File: name, Raw: text})
		}
	}
	return mode, bad
}

func set[T any](to *T, text string, parse func(string) (T, bool)) bool {
	v, ok := parse(text)
	if ok {
		*to = v
	}
	return ok
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
