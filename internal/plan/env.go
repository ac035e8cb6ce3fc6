// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"

	"github.com/snug-go/snug/limits"
)

// UnknownNames lists the SNUG_* variables of an environment, in the form of os.Environ, that
// nothing reads: the operator expects them to have an effect. NearestName suggests a correction.
// It skips the variables of the project's own tests, SNUG_E2E... and SNUG_TEST..., and those
// that a kubelet sets for a Service named snug: SNUG_SERVICE_HOST, SNUG_PORT_443_TCP and others.
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

// OfRun reports whether a variable of Go has the value that `snug run` gave it; such a value is
// not the operator's. run is SNUG_RUN, the list of variables it set:
// GOMAXPROCS=2,GOMEMLIMIT=483183820.
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

// NearestName returns the variable closest to a wrong name by Levenshtein distance, or "" if
// the distance is a third of the name's length or more.
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

// changes returns the Levenshtein distance: the letters to insert, delete or replace to turn a
// into b.
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

// ParseSwitch parses the usual words for on and off, in any case: on, 1, true, yes, enable,
// enabled, or off, 0, false, no, disable, disabled.
func ParseSwitch(text string) (on, ok bool) {
	switch lower(text) {
	case "on", "1", "true", "yes", "enable", "enabled":
		return true, true
	case "off", "0", "false", "no", "disable", "disabled":
		return false, true
	}
	return false, false
}

// lower is for ASCII only: package strings would link Unicode tables.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
