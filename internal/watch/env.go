// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// The range of shares of the CPU time.
const (
	MinShare = 0.01
	MaxShare = 0.5
)

// ReadEnv reads the variables that control adaptation; follow.ReadEnv reads those that control
// following.
func ReadEnv(getenv func(string) string, c *Config) (bad []limits.Warning) {
	for _, name := range [...]string{"SNUG_ADAPT", "SNUG_GC"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		ok := false
		switch name {
		case "SNUG_ADAPT":
			var parts Parts
			if parts, ok = parseParts(text); ok {
				c.Adapt = parts
			}
		case "SNUG_GC":
			ok = parseShare(text, &c.GC.Share)
		}
		if !ok {
			plan.Warn(&bad, plan.EnvInvalid, &limits.Source{File: name, Raw: text}, 0)
		}
	}
	return bad
}

// Warn adds a warning if memory is to be measured but may belong to other processes.
func (c *Config) Warn(all *[]limits.Warning, in *plan.Input) {
	if c.Adapt&(Memory|GC) != 0 && shared(in, in.Limits.Memory.Soft) {
		plan.Warn(all, plan.NotMeasured, &limits.Source{}, 0)
	}
}

// parseParts parses "memory,gc,cpu" in any order, or "none".
func parseParts(text string) (all Parts, ok bool) {
	if on, ok := plan.ParseSwitch(text); text == "none" || ok && !on {
		return 0, true
	}
	for _, name := range strings.Split(text, ",") {
		switch strings.TrimSpace(name) {
		case "memory":
			all |= Memory
		case "gc":
			all |= GC
		case "cpu":
			all |= CPU
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
