// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// autoImport sizes the process in which it is compiled as `snug run` would.
const autoImport = `import _ "github.com/snug-go/snug/auto"`

// Paste returns the setting of a cell in forms to paste. Variables that only base has are unset, if
// the form can do that. If the setting is snug's own plan, the forms let snug set it when the program
// starts, so that it follows the container; command is the program, nil for one without a name here.
func Paste(c, base *finding.Cell, command []string) *finding.Environment {
	set, gone := variables(c), []string{}
	now := map[string]bool{}
	for _, v := range set {
		now[v[0]] = true
	}
	own := len(set) > 0 && slices.Contains(c.Labels, labelSnug)
	for _, v := range variables(base) {
		if own || !now[v[0]] {
			gone = append(gone, v[0])
		}
	}
	e := &finding.Environment{}
	if len(gone) > 0 {
		e.Shell = "unset " + strings.Join(gone, " ") + "\n"
		e.Dockerfile = "# without " + strings.Join(gone, ", ") + "\n"
		e.Kubernetes = e.Dockerfile
	}
	if own {
		startedBySnug(e, command)
	} else {
		values(e, set)
	}
	if c.Burst != base.Burst {
		// cpu.max.burst, cpu.cfs_burst_us: Documentation/scheduler/sched-bwc.rst.
		remark(e, fmt.Sprintf("# and in the cgroup: cpu.max.burst (v1: cpu.cfs_burst_us) = %d\n", c.Burst))
	}
	if n := max(c.Replicas, 1); n != max(base.Replicas, 1) {
		remark(e, fmt.Sprintf("# and as %d containers that share the limits\n", n))
	}
	return e
}

// startedBySnug adds the forms of snug's plan.
func startedBySnug(e *finding.Environment, command []string) {
	if len(command) == 0 {
		command = []string{"COMMAND"}
	}
	words := append([]string{"snug", "run", "--"}, command...)
	list, err := json.Marshal(words)
	if err != nil {
		panic(err) // strings only
	}
	for i, w := range words {
		words[i] = message.Quote(w)
	}
	e.Shell += strings.Join(words, " ") + "\n"
	e.Dockerfile += "ENTRYPOINT " + string(list) + "\n"
	e.Kubernetes += "command: " + string(list) + "\n"
	e.Go = autoImport + "\n"
}

// values adds the forms that set variables.
func values(e *finding.Environment, set [][2]string) {
	if len(set) == 0 {
		return
	}
	e.Shell += "export"
	e.Dockerfile += "ENV"
	e.Kubernetes += "env:\n"
	for _, v := range set {
		e.Shell += " " + v[0] + "=" + message.Quote(v[1])
		e.Dockerfile += " " + v[0] + "=" + quoted(v[1])
		e.Kubernetes += fmt.Sprintf("  - name: %s\n    value: %q\n", v[0], v[1])
	}
	e.Shell += "\n"
	e.Dockerfile += "\n"
}

// quoted returns a value as a Dockerfile reads it.
func quoted(v string) string {
	if message.Quote(v) == v {
		return v
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(v) + `"`
}

func remark(e *finding.Environment, line string) {
	e.Shell += line
	e.Dockerfile += line
	e.Kubernetes += line
}

// variables returns the variables that a setting sets, Go's first.
func variables(c *finding.Cell) [][2]string {
	var out [][2]string
	for _, v := range [][2]string{{"GOMAXPROCS", c.GOMAXPROCS}, {"GOGC", c.GOGC}, {"GOMEMLIMIT", c.GOMEMLIMIT}} {
		if v[1] != "" {
			out = append(out, v)
		}
	}
	for _, v := range c.Vars.List() {
		name, value, _ := strings.Cut(v, "=")
		out = append(out, [2]string{name, value})
	}
	return out
}
