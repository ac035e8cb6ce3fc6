// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Follow is what SNUG_WATCH asks for.
type Follow uint8

const (
	Default Follow = iota // follow, but not in a test binary
	Never                 // SNUG_WATCH=off: fit once
	Always                // SNUG_WATCH=on
)

// The ranges of options. What a program gives outside of them becomes the nearest inside.
const (
	minPoll, maxPoll = 10 * time.Millisecond, time.Hour
	minShare         = 0.01
	maxShare         = 0.5
	minTimes         = 4
	maxTimes         = 8
)

var variables = [...]string{"SNUG_WATCH", "SNUG_ADAPT", "SNUG_POLL", "SNUG_MEMORY_RESERVE", "SNUG_AT_LIMIT", "SNUG_GC"}

// ReadEnv reads the variables that say how to follow over a program's own
// wishes: the operator wins. What makes no sense is reported and ignored.
func ReadEnv(getenv func(string) string, c *Config) (f Follow, bad []limits.Warning) {
	for _, name := range &variables {
		text := getenv(name)
		if text == "" {
			continue
		}
		ok := false
		switch name {
		case "SNUG_WATCH":
			var on bool
			if on, ok = plan.ParseSwitch(text); ok {
				if f = Never; on {
					f = Always
				}
			}
		case "SNUG_ADAPT":
			var parts Parts
			if parts, ok = parseParts(text); ok {
				c.Adapt = parts
			}
		case "SNUG_POLL":
			d, err := time.ParseDuration(text)
			if ok = err == nil && d >= minPoll && d <= maxPoll; ok {
				c.Poll = d
			}
		case "SNUG_MEMORY_RESERVE":
			var share float64
			if share, ok = parseShare(text); ok {
				c.Memory.Reserve = share
			}
		case "SNUG_AT_LIMIT":
			switch text {
			case "oom":
				c.Memory.Guard, ok = adapt.OOM, true
			case "thrash":
				c.Memory.Guard, ok = adapt.Thrash, true
			}
		case "SNUG_GC":
			ok = parseGC(text, &c.GC)
		}
		if !ok {
			bad = append(bad, limits.Warning{Code: plan.EnvInvalid, Source: limits.Source{File: name, Raw: text}})
		}
	}
	return f, bad
}

// parseParts reads "memory,gc,cpu" in any order, and "none".
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

// parseShare reads "15%", 1 to 50.
func parseShare(text string) (float64, bool) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(digits, 64)
	n /= 100
	return n, ok && err == nil && n >= minShare && n <= maxShare
}

// parseGC reads "headroom", "headroom:6", "cost" and "cost:5%".
func parseGC(text string, to *adapt.GCPolicy) bool {
	p := *to
	mode, number, given := strings.Cut(text, ":")
	ok := true
	switch mode {
	case "headroom":
		p.Mode = adapt.Headroom
		if given {
			n, err := strconv.ParseFloat(number, 64)
			ok = err == nil && n >= minTimes && n <= maxTimes
			p.Times = n
		}
	case "cost":
		p.Mode = adapt.Cost
		if given {
			p.Share, ok = parseShare(number)
		}
	default:
		ok = false
	}
	if ok {
		*to = p
	}
	return ok
}
