// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

// setting is one value of --set. knobs has no GOMEMLIMIT: a percentage becomes a number
// only when the memory limit is known.
type setting struct {
	knobs  finding.Knobs
	memory plan.Memory // GOMEMLIMIT; the zero value leaves it unset
}

// parseSet parses NAME=VALUE pairs separated by commas or blanks. A part without a name
// belongs to the value before it: PARTS=memory,gc is one variable, and so is
// GODEBUG=a=1,b=2.
func parseSet(text string) (one setting, ok bool) {
	var entries, others []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, _, named := strings.Cut(part, "=")
		debug := len(entries) > 0 && strings.HasPrefix(entries[len(entries)-1], "GODEBUG=")
		switch {
		case named && variableName(name) && !(debug && strings.ToUpper(name) != name):
			entries = append(entries, part)
		case len(entries) == 0:
			return setting{}, false
		default:
			entries[len(entries)-1] += "," + part
		}
	}
	for _, e := range entries {
		name, value, _ := strings.Cut(e, "=")
		ok := true
		switch name {
		case "GOMAXPROCS":
			_, ok = plan.ParseProcs(value)
			one.knobs.GOMAXPROCS = value
		case "GOGC":
			_, ok = flagvalue.ParseGOGC(value)
			one.knobs.GOGC = value
		case "GOMEMLIMIT":
			one.memory, ok = plan.ParseMemory(value)
		default:
			// A misspelt name of Go's three would be measured as if it were right.
			ok = value != "" && !strings.HasPrefix(name, "GOM") && !strings.HasPrefix(name, "GOGC")
			others = append(others, e)
		}
		if !ok {
			return setting{}, false
		}
	}
	one.knobs.Vars = finding.NewVars(others)
	return one, one != setting{}
}

// variableName reports whether a text is a valid name of a shell variable.
func variableName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
