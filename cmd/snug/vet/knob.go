// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"math"
	"strconv"
	"strings"
)

// knobs are the variables that the runtime reads at start.
var knobs = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG"}

// knobName returns the one of knobs that a text begins with, or "".
func knobName(text string) string {
	for _, k := range knobs {
		if strings.HasPrefix(text, k) {
			return k
		}
	}
	return ""
}

// Problem is a problem of a value.
type Problem struct {
	ID   string // of a Check
	Text string // one sentence, without a full stop
	Fix  string // a valid value with the likely meaning; "" if that is unclear
}

// minMemLimit is the smallest useful GOMEMLIMIT, in bytes. Below it even an idle Go
// program collects all the time, because its runtime and stacks need more.
const minMemLimit = 2 << 20

// hugeMemLimit is a GOMEMLIMIT that no container reaches, in bytes: more than all but the largest
// machines have.
const hugeMemLimit = 1 << 40

// isHuge reports whether a memory limit in bytes bounds nothing, although it is meant to:
// math.MaxInt64 sets no limit. Source: runtime/debug.SetMemoryLimit.
func isHuge(n int64) bool { return n >= hugeMemLimit && n != math.MaxInt64 }

// Knob returns the problems of the value of an environment variable, as the Go runtime
// reads it at start. Variables other than GOMAXPROCS, GOMEMLIMIT, GOGC and GODEBUG have
// none.
// Sources: readGOGC and readGOMEMLIMIT of runtime/mgcpacer.go, schedinit of
// runtime/proc.go, parseByteCount of runtime/string.go.
func Knob(name, value string) []Problem {
	switch name {
	case "GOMEMLIMIT":
		return memLimit(value)
	case "GOGC":
		return gogc(value)
	case "GOMAXPROCS":
		if n, err := strconv.ParseInt(value, 10, 32); value != "" && (err != nil || n <= 0) {
			return []Problem{{idMalformedProcs,
				"GOMAXPROCS=" + value + " is not a whole number above 0, so Go ignores it and uses its default", cores(value)}}
		}
	case "GODEBUG":
		return debugValue(value)
	}
	return nil
}

// cores returns a number of CPUs in the notation of Kubernetes, rounded up, or "".
func cores(value string) string {
	text, milli := strings.CutSuffix(value, "m")
	v, err := strconv.ParseFloat(text, 64)
	if milli {
		v /= 1000
	}
	if err != nil || !(v > 0) || v > 1<<20 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(v)))
}

func memLimit(value string) []Problem {
	if value == "" || value == "off" {
		return nil
	}
	n, ok := byteCount(value)
	if !ok {
		return []Problem{{idMalformedMemLimit,
			"GOMEMLIMIT=" + value + " ends every Go program at start: valid are off and whole numbers, alone or followed by " +
				"B, KiB, MiB, GiB or TiB", likelyBytes(value)}}
	}
	if n < minMemLimit {
		text := "GOMEMLIMIT=" + value + " is " + strconv.FormatInt(n, 10) +
			" bytes, less than an idle Go program needs: it collects all the time"
		return []Problem{{idTinyMemLimit, text, likelyBytes(value + "M")}}
	}
	if isHuge(n) {
		return []Problem{{idHugeMemLimit,
			"GOMEMLIMIT=" + value + " is " + tebibytes(n) + ", which no container reaches: it bounds nothing", ""}}
	}
	return nil
}

// tebibytes returns a number of bytes in TiB, rounded down.
func tebibytes(n int64) string { return strconv.FormatInt(n>>40, 10) + " TiB" }

// byteCount parses a size as the Go runtime does.
func byteCount(s string) (int64, bool) {
	text, shift := s, 0
	if t, ok := strings.CutSuffix(s, "B"); ok {
		text = t
		for i, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
			if t, ok := strings.CutSuffix(text, unit); ok {
				text, shift = t, 10*(i+1)
				break
			}
		}
	}
	// The text must end in a digit.
	if text == "" || text[len(text)-1] < '0' || text[len(text)-1] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// likelyBytes converts a size in the notation of Kubernetes, Docker or people to that of
// Go; "" if its meaning is unclear.
func likelyBytes(value string) string {
	i := strings.LastIndexAny(value, "0123456789") + 1
	n, err := strconv.ParseInt(value[:i], 10, 64)
	if err != nil || n < 0 {
		return ""
	}
	unit := strings.ToUpper(strings.TrimSpace(value[i:]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	if len(unit) != 1 || !strings.Contains("KMGT", unit) {
		return ""
	}
	likely := strconv.FormatInt(n, 10) + unit + "iB"
	if n, ok := byteCount(likely); !ok || n < minMemLimit || isHuge(n) {
		return "" // too large, or too small to be intended
	}
	return likely
}

func gogc(value string) []Problem {
	if value == "" || value == "off" {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	switch {
	case err != nil:
		fix := ""
		if text := strings.TrimSuffix(value, "%"); text != value && gogc(text) == nil {
			fix = text
		} else if strings.EqualFold(value, "off") {
			fix = "off"
		}
		return []Problem{{idMalformedGOGC,
			"GOGC=" + value + " is neither a whole number nor off, so Go ignores it and uses 100", fix}}
	case n == 0:
		return []Problem{{idZeroGOGC,
			"GOGC=0 collects all the time: the next collection begins when one ends; to turn the collector off, write off", ""}}
	}
	return nil
}

// harmful are the GODEBUG settings for the runtime's own tests. Any number above 0 turns
// them on. Source: package runtime, section Environment Variables.
var harmful = map[string]string{
	"sbrk":           "replaces the allocator and the collector: memory is never freed",
	"gcstoptheworld": "stops the world for the whole of each collection",
	"clobberfree":    "overwrites freed memory",
	"gccheckmark":    "marks the heap a second time with the world stopped",
}

// gates are the GODEBUG settings that 0 turns off.
var gates = map[string]string{
	"containermaxprocs": "makes GOMAXPROCS ignore the CPU quota",
	"updatemaxprocs":    "keeps GOMAXPROCS at its value from the start when the CPU quota changes",
}

func debugValue(value string) []Problem {
	var found []Problem
	for _, part := range strings.Split(value, ",") {
		key, v, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(v, 10, 32)
		switch {
		case err != nil:
		case harmful[key] != "" && n > 0:
			found = append(found, Problem{idDebugValue, "GODEBUG=" + part + " " + harmful[key], ""})
		case gates[key] != "" && n == 0:
			found = append(found, Problem{idNoQuota, "GODEBUG=" + part + " " + gates[key], ""})
		}
	}
	return found
}
