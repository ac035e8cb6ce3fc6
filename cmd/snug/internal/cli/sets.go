// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/internal/plan"
)

// addSets defines --set: one setting of several variables, where --gomaxprocs,
// --gogc and --gomemlimit together would try every combination.
func (s *sweep) addSets(fs *pflag.FlagSet) {
	fs.Var(&parsedFlag{set: func(text string) error {
		k, ok := parseSet(text)
		if !ok {
			return errors.New("variables of Go and their values, as GOGC=off,GOMEMLIMIT=124MiB")
		}
		s.sets = append(s.sets, k)
		return nil
	}}, "set", "compare one `SETTING` of several variables, as GOGC=off,GOMEMLIMIT=124MiB; repeatable")
}

func parseSet(text string) (k finding.Knobs, ok bool) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "GOMAXPROCS":
			_, ok = plan.ParseProcs(value)
			k.GOMAXPROCS = value
		case "GOGC":
			_, ok = parseGOGC(value)
			k.GOGC = value
		case "GOMEMLIMIT":
			var m plan.Memory
			if m, ok = plan.ParseMemory(value); ok && m.Percent == 0 {
				k.GOMEMLIMIT, _ = memoryLimit(m, 0)
			} else {
				ok = false
			}
		default:
			ok = false
		}
		if !ok {
			return finding.Knobs{}, false
		}
	}
	return k, k != finding.Knobs{}
}
