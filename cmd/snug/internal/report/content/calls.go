// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Goroutines returns how many goroutines were looked at, and of how many if some were left out.
func Goroutines(d *finding.Goroutines) string {
	all := units.Plural(d.Total+d.Left, "goroutine")
	if d.Left > 0 {
		return units.Number(float64(d.Total)) + " of " + all
	}
	return all
}

// shownCalls is how many calls of a stack are shown in a row.
const shownCalls = 3

// Calls returns the first calls of a stack, innermost first, from the first that is not the
// runtime's if there is one.
func Calls(stack []finding.Call) string {
	first := slices.IndexFunc(stack, func(c finding.Call) bool {
		return !strings.HasPrefix(c.Function, "runtime.") && !strings.HasPrefix(c.Function, "internal/") &&
			!strings.HasPrefix(c.Function, "sync.runtime_")
	})
	stack = stack[max(first, 0):]
	var list []string
	for _, c := range stack[:min(len(stack), shownCalls)] {
		list = append(list, Call(c))
	}
	text := strings.Join(list, " < ")
	if len(stack) > shownCalls {
		text += " < ..."
	}
	return text
}

// Call returns a function without the directories of its package, and its line.
func Call(c finding.Call) string {
	name := c.Function
	end := strings.IndexAny(name, "([")
	if end < 0 {
		end = len(name)
	}
	name = name[strings.LastIndexByte(name[:end], '/')+1:]
	if c.Line > 0 {
		name += fmt.Sprintf(" (%s:%d)", path.Base(c.File), c.Line)
	}
	return message.Clean(name)
}
