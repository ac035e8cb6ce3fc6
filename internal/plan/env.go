// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"strings"

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

// UnknownNames lists the SNUG_* variables of an environment (as os.Environ has it) that
// nothing reads: an operator believes that they do something. NearestName tells what
// may be meant. Those of the project's own tests, SNUG_E2E... and SNUG_TEST..., are
// left out, and so are those that a kubelet makes of a Service called snug:
// SNUG_SERVICE_HOST, SNUG_PORT_443_TCP and others.
func UnknownNames(environ []string) (bad []limits.Warning) {
	for _, kv := range environ {
		if len(kv) < 5 || kv[:5] != "SNUG_" {
			continue
		}
		name, value, _ := strings.Cut(kv, "=")
		if known(name) || strings.HasPrefix(name, "SNUG_E2E") || strings.HasPrefix(name, "SNUG_TEST") ||
			strings.Contains(name, "_PORT") || strings.Contains(name, "_SERVICE_") {
			continue
		}
		Warn(&bad, EnvUnknown, &limits.Source{File: name, Raw: value})
	}
	return bad
}

// OfRun reports whether a variable of Go has the value that `snug run` gave it. run is
// SNUG_RUN, in which that lists what it set: GOMAXPROCS=2,GOMEMLIMIT=483183820. Such a
// value is not the operator's.
func OfRun(run, name, value string) bool {
	for run != "" {
		var one string
		if one, run, _ = strings.Cut(run, ","); one == name+"="+value {
			return true
		}
	}
	return false
}

func known(name string) bool {
	for i := range Variables {
		if Variables[i] == name {
			return true
		}
	}
	return false
}

// NearestName is the variable that a wrong name may stand for: the one that the fewest
// changes of a letter make of it, and "" when that is a third of the name or more.
func NearestName(name string) string {
	best, least := "", len(name)/3
	if len(name) > 64 {
		return ""
	}
	for i := range Variables {
		if n := changes(name, Variables[i]); n < least {
			best, least = Variables[i], n
		}
	}
	return best
}

// changes is how many letters have to be put in, left out or replaced to make b of a
// (Levenshtein's distance).
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			n := left
			if a[i] != b[j] {
				n = 1 + min(left, row[j], row[j+1])
			}
			left, row[j+1] = row[j+1], n
		}
	}
	return row[len(b)]
}

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
		ok := false
		switch name {
		case "SNUG":
			ok = set(&mode, text, parseMode)
		case "SNUG_ROUND":
			ok = set(&p.Round, text, ParseRound)
		case "SNUG_MIN_PROCS":
			ok = set(&p.MinProcs, text, ParseProcs)
			minRead = ok
		case "SNUG_MAX_PROCS":
			ok = set(&p.MaxProcs, text, ParseProcs)
			maxRead = ok
		case "SNUG_RESERVE_CPUS":
			ok = set(&p.ReserveCPUs, text, ParseCPUs)
		case "SNUG_REQUEST_FACTOR":
			ok = set(&p.RequestFactor, text, ParseFactor)
		case "SNUG_GOMEMLIMIT":
			ok = set(&p.Memory, text, ParseMemory)
		case "SNUG_WORKERS":
			ok = set(&p.Workers, text, ParseProcs)
		case "SNUG_LOG": // fit asks again when it logs
			_, ok = ParseSwitch(text)
		case "SNUG_CPU_LIMIT":
			ok = set(&h.CPULimit, text, ParseCPUs)
		case "SNUG_CPU_REQUEST":
			ok = set(&h.CPURequest, text, ParseCPUs)
		case "SNUG_MEMORY_LIMIT":
			ok = set(&h.MemoryLimit, text, ParseBytes)
		}
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

// ParseSwitch reads what people write to switch something on or off, in any case:
// on, 1, true, yes, enable, enabled, or off, 0, false, no, disable, disabled.
func ParseSwitch(text string) (on, ok bool) {
	switch lower(text) {
	case "on", "1", "true", "yes", "enable", "enabled":
		return true, true
	case "off", "0", "false", "no", "disable", "disabled":
		return false, true
	}
	return false, false
}

// lower is for ASCII: package strings brings the tables of Unicode.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
