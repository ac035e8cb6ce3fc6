// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"

	"github.com/snug-go/snug/limits"
)

// UnknownNames lists the SNUG_* variables of an environment, in the form of os.Environ, that
// nothing reads: the operator expects them to have an effect. NearestName suggests a correction.
// It keeps no value, which may be a secret: SNUG_TOKEN, SNUG_SIGN_KEY.
// It skips the variables of the project's own tests, SNUG_E2E... and SNUG_TEST..., and those
// that a kubelet sets for a Service named snug: SNUG_SERVICE_HOST, SNUG_PORT_443_TCP and others.
func UnknownNames(environ []string) (bad []limits.Warning) {
	for _, kv := range environ {
		if len(kv) < 5 || kv[:5] != "SNUG_" {
			continue
		}
		name, _, _ := strings.Cut(kv, "=")
		if known(name) || strings.HasPrefix(name, "SNUG_E2E") || strings.HasPrefix(name, "SNUG_TEST") ||
			strings.Contains(name, "_PORT") || strings.Contains(name, "_SERVICE_") {
			continue
		}
		Warn(&bad, EnvUnknown, &limits.Source{File: name}, 0)
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

// NearestName returns the variable that differs least from a wrong name, or "" if none is close: what
// is left of both without their common beginning and end is shorter than a third of the name.
func NearestName(name string) string {
	best, least := "", len(name)/3
	for i := range Variables {
		a, b := name, Variables[i]
		for a != "" && b != "" && a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		if n := max(len(a), len(b)); n < least {
			best, least = Variables[i], n
		}
	}
	return best
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

// ParseLog parses SNUG_LOG: a switch, or json for lines in JSON.
func ParseLog(text string) (on, json, ok bool) {
	if lower(text) == "json" {
		return true, true, true
	}
	on, ok = ParseSwitch(text)
	return on, false, ok
}

// lower is for ASCII only: package strings would link Unicode tables.
//
//go:noinline
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
