// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"

	"github.com/snug-go/snug/limits"
)

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
