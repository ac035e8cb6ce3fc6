// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"math"
	"strconv"
	"strings"
)

// knobs are the variables that the runtime reads at start.
var knobs = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG"}

// knobName is the variable that a text begins with; "" when it is none of knobs.
func knobName(text string) string {
	for _, k := range knobs {
		if strings.HasPrefix(text, k) {
			return k
		}
	}
	return ""
}

// Problem is what is wrong with a value.
type Problem struct {
	ID   string // of a Check
	Text string // one sentence, without a full stop
	Fix  string // a value that means what this one seems to; "" when that is not clear
}

// leastMemLimit is the GOMEMLIMIT below which even an idle program of Go only collects:
// its runtime and stacks take more.
const leastMemLimit = 2 << 20

// Knob judges the value of an environment variable as the runtime of Go reads it at
// start. Variables other than GOMAXPROCS, GOMEMLIMIT, GOGC and GODEBUG have no problems.
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
			return []Problem{{idMalformedProcs, "GOMAXPROCS=" + value + " is no whole number above 0, so Go ignores it and takes its default", cores(value)}}
		}
	case "GODEBUG":
		return debugValue(value)
	}
	return nil
}

// cores is a number of CPUs as Kubernetes writes it, rounded up; "" when it is none.
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
		return []Problem{{idMalformedMemLimit, "GOMEMLIMIT=" + value + " ends every Go program at start: only whole numbers with B, KiB, MiB, GiB, TiB or nothing behind them are valid, and off", likelyBytes(value)}}
	}
	if n < leastMemLimit {
		text := "GOMEMLIMIT=" + value + " is " + strconv.FormatInt(n, 10) + " bytes, less than an idle Go program needs: it collects all the time"
		return []Problem{{idTinyMemLimit, text, likelyBytes(value + "M")}}
	}
	return nil
}

// byteCount is a size as the runtime reads it.
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
	// Every text that ends otherwise, and a sign that is behind no digit, is refused.
	if text == "" || text[len(text)-1] < '0' || text[len(text)-1] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// likelyBytes is a size written as Kubernetes, Docker and people do, as Go wants it; ""
// when it is not clear what was meant.
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
	if n, ok := byteCount(likely); !ok || n < leastMemLimit {
		return "" // too large, or too small to be meant
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
		return []Problem{{idMalformedGOGC, "GOGC=" + value + " is neither a whole number nor off, so Go ignores it and takes 100", fix}}
	case n == 0:
		return []Problem{{idZeroGOGC, "GOGC=0 collects all the time: the next collection begins when one ends; to turn the collector off write off", ""}}
	}
	return nil
}

// harmful are settings of GODEBUG that are for the runtime's own tests; they are on with
// any number above 0. Source: package runtime, section Environment Variables.
var harmful = map[string]string{
	"sbrk":           "replaces the allocator and the collector: nothing is ever freed",
	"gcstoptheworld": "stops the world for the whole of each collection",
	"clobberfree":    "overwrites memory that is freed",
	"gccheckmark":    "marks the heap a second time with the world stopped",
}

// gates are settings of GODEBUG that are off with 0.
var gates = map[string]string{
	"containermaxprocs": "keeps GOMAXPROCS from taking the CPU quota into account",
	"updatemaxprocs":    "keeps GOMAXPROCS as it is at start when the CPU quota changes",
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
