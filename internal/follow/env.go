// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// When selects whether to follow.
type When uint8

const (
	Default When = iota // follow, but not in a test binary
	Never               // SNUG_WATCH=off: fit once
	Always              // SNUG_WATCH=on
)

// ReadEnv reads SNUG_WATCH and SNUG_POLL, which override the program's options. An invalid one is
// reported and ignored.
func ReadEnv(getenv func(string) string, poll *time.Duration) (w When, bad []limits.Warning) {
	for _, name := range [...]string{"SNUG_WATCH", "SNUG_POLL"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		ok := false
		if name == "SNUG_POLL" {
			var d time.Duration
			if d, ok = ParsePoll(text); ok {
				*poll = d
			}
		} else {
			var on bool
			if on, ok = plan.ParseSwitch(text); ok {
				if w = Never; on {
					w = Always
				}
			}
		}
		if !ok {
			plan.Warn(&bad, plan.EnvInvalid, &limits.Source{File: name, Raw: text}, 0)
		}
	}
	return w, bad
}

// CheckPoll returns an error for a program's Poll that is out of range, or nil.
func CheckPoll(field string, d time.Duration) *fit.Invalid {
	if d == 0 || d >= MinPoll && d <= MaxPoll {
		return nil
	}
	return &fit.Invalid{Field: field, Value: d.String(), Want: "0, or 10ms to 1h"}
}

// ParsePoll parses a duration from MinPoll to MaxPoll as time.ParseDuration does, in h, m, s and
// ms: 1.5s, 500ms, 1m30s.
func ParsePoll(text string) (time.Duration, bool) {
	var sum float64
	for text != "" {
		n := 0
		for n < len(text) && (text[n] == '.' || text[n] >= '0' && text[n] <= '9') {
			n++
		}
		x, ok := plan.ParseDecimal(text[:n])
		text = text[n:]
		for n = 0; n < len(text) && text[n] >= 'a'; n++ {
		}
		switch text[:n] {
		case "h":
			x *= 3600
		case "m":
			x *= 60
		case "s":
		case "ms":
			x /= 1000
		default:
			ok = false
		}
		if !ok {
			return 0, false
		}
		sum, text = sum+x, text[n:]
	}
	d := time.Duration(sum * float64(time.Second))
	return d, d >= MinPoll && d <= MaxPoll
}
