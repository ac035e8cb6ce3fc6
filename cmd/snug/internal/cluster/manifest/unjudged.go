// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

var (
	// knobs are the variables of the Go runtime that are looked for.
	knobs = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"}
	// assigned finds one that a line sets: NAME=, NAME: or name: NAME.
	assigned = sync.OnceValue(func() *regexp.Regexp { // most commands do not need it
		return regexp.MustCompile(`(?:^|[^A-Za-z0-9_])(?:(GOMAXPROCS|GOMEMLIMIT|GOGC)["']?\s*[=:]|name:\s*["']?(GOMAXPROCS|GOMEMLIMIT|GOGC)["']?\s*(?:[,}#]|$))`)
	})
)

// unjudged returns the lines of a file that set a variable of the Go runtime and were not judged: in a command, a
// Secret, the values of a chart, an object whose form is unknown, with a value that another tool
// fills in, or by a name that is not quite the variable's. Sources of templates are left out, and units of
// systemd, whose lines are all judged.
func (f *File) unjudged() []Problem {
	if slices.ContainsFunc(f.Problems, func(p Problem) bool { return p.Template }) ||
		slices.ContainsFunc(f.Objects, func(o *Object) bool { return o.Form == Unit }) {
		return nil
	}
	judged := map[int]bool{}
	var all []Problem
	see := func(o *Object, e *Env) {
		at := o.NameAt(e).Line
		last := max(at, o.EnvAt(e).Line, o.FieldAt(e.Value).Line, at+1)
		known := slices.Contains(knobs, e.Name)
		switch {
		case known && e.From == Literal && strings.Contains(e.Value.Text, "${"):
			all = append(all, Problem{Line: at, Why: e.Name + " is " + e.Value.Text + ": Kubernetes expands only $(NAME), another tool may replace it"})
		case !known && misspelt(e.Name) != "":
			all = append(all, Problem{Line: at, Why: "the variable " + e.Name + " is not " + misspelt(e.Name) + ", which Go reads"})
		}
		for line := at; line <= last; line++ {
			judged[line] = true
		}
	}
	for _, o := range f.Objects {
		for i := range o.Data {
			see(o, &o.Data[i])
		}
		for _, p := range o.Pods {
			for _, c := range p.Containers {
				for i := range c.Env {
					see(o, &c.Env[i])
				}
			}
		}
	}
	n, text := 0, f.Text
	if !slices.ContainsFunc(knobs, func(name string) bool { return bytes.Contains(text, []byte(name)) }) {
		text = nil // most files
	}
	for line := range bytes.Lines(text) {
		n++
		text := strings.TrimSpace(string(line))
		m := assigned().FindStringSubmatch(text)
		if m == nil || judged[n] || strings.HasPrefix(text, "#") || strings.Contains(text, podpatch.Prefix) {
			continue // snug's annotations list variables
		}
		all = append(all, Problem{Line: n, Why: m[1] + m[2] + " is set here, in a form that was not judged"})
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return a.Line - b.Line })
	return slices.CompactFunc(all, func(a, b Problem) bool { return a.Line == b.Line })
}

// misspelt returns the variable of the Go runtime that a name is meant to be: in other case, with other separators,
// or with a letter of a long name missing or added; "" if it is none, or right.
func misspelt(name string) string {
	plain := strings.ToUpper(strings.NewReplacer("_", "", "-", "").Replace(name))
	for _, knob := range knobs {
		switch {
		case name == knob:
			return ""
		case plain == knob, len(knob) > 4 && (without(knob, plain) || without(plain, knob)):
			return knob
		}
	}
	return ""
}

// without reports whether short is long without one of its letters.
func without(long, short string) bool {
	if len(long) != len(short)+1 {
		return false
	}
	for i := range short {
		if long[i] != short[i] {
			return long[i+1:] == short[i:]
		}
	}
	return true
}
