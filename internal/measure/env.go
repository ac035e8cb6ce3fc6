// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// The range of shares of the CPU time.
const (
	MinShare = 0.01
	MaxShare = 0.5
)

// ReadEnv reads SNUG_ADAPT and SNUG_GC, which override the program's options. An
// invalid one is reported and ignored.
func ReadEnv(getenv func(string) string, m *follow.Measure) (bad []limits.Warning) {
	for _, name := range [...]string{"SNUG_ADAPT", "SNUG_GC"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		ok := false
		switch name {
		case "SNUG_ADAPT":
			var parts follow.Parts
			if parts, ok = parseParts(text); ok {
				m.Adapt = parts
			}
		case "SNUG_GC":
			ok = parseShare(text, &m.GC.Share)
		}
		if !ok {
			plan.Warn(&bad, plan.EnvInvalid, &limits.Source{File: name, Raw: text}, 0)
		}
	}
	return bad
}

// parseParts parses "memory,gc,cpu" in any order, or "none".
func parseParts(text string) (all follow.Parts, ok bool) {
	if on, ok := plan.ParseSwitch(text); text == "none" || ok && !on {
		return 0, true
	}
	for _, name := range strings.Split(text, ",") {
		switch strings.TrimSpace(name) {
		case "memory":
			all |= follow.Memory
		case "gc":
			all |= follow.GC
		case "cpu":
			all |= follow.CPU
		default:
			return 0, false
		}
	}
	return all, true
}

// parseShare parses "15%", 1 to 50.
func parseShare(text string, to *float64) bool {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(digits, 64)
	n /= 100
	if ok = ok && err == nil && n >= MinShare && n <= MaxShare; ok {
		*to = n
	}
	return ok
}
