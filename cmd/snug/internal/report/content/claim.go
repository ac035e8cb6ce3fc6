// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// claim says where a setting is better: GOMAXPROCS=1 costs 12 % (8 to 14 %) less
// CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds. For a spared setting
// it first says how the planned baseline fails. whole adds what only one verdict has room
// for.
func (w words) claim(j *finding.Judged, whole bool) string {
	if j.Code == finding.Spared {
		return w.spared(j, whole)
	}
	base := &w.cells[j.Baseline]
	text := w.setting(j, *j.Setting) + " " + w.gains(j, whole) + " than the " + baseName(base)
	if n := w.cells[j.Gain.Baseline].Procs; whole && n != nil && base.GOMAXPROCS == "" {
		text += ", GOMAXPROCS=" + strconv.Itoa(*n) + ","
	}
	if whole {
		text += rounds(j)
	}
	return strings.TrimSuffix(text, ",") + w.price(j, whole)
}

// spared says how the planned baseline fails, which setting does not, and what was
// compared with that.
func (w words) spared(j *finding.Judged, whole bool) string {
	not := " does not"
	if j.Fails.Code == finding.FailsMemory {
		not = " is not"
	}
	not += units.If(j.Chance, " (which may be chance)")
	text := "the " + baseName(&w.cells[j.Fails.Cell]) + " " + w.failure(j, j.Fails) + "; " + w.setting(j, j.Baseline) + not
	if j.Gain != nil {
		return text + ", and " + w.setting(j, *j.Setting) + " " + w.gains(j, whole) + " than that" + rounds(j) +
			w.price(j, whole)
	}
	text += w.costs(j, j.Costs)
	switch few := j.Rounds < j.Least; {
	case !whole || j.Settings == 0 || j.Rounds == 0:
	case few:
		text += "; " + units.Plural(j.Rounds, "round") + " are too few to compare it with others, it takes " +
			strconv.Itoa(j.Least)
	default:
		text += ", and nothing else that lives beats it beyond noise" + compared(j.Settings, j.Rounds)
	}
	if whole {
		text += w.others(j)
	}
	return text
}

// gains lists the metrics in which a setting is better, the one that decides first.
func (w words) gains(j *finding.Judged, whole bool) string {
	better := []finding.Comparison{*j.Gain}
	if whole {
		better = append(better, j.Also...)
	}
	return w.phrases(j, better, true)
}

// price says in what a setting that wins is worse, and which settings win something else.
func (w words) price(j *finding.Judged, whole bool) string {
	text := w.costs(j, j.Costs)
	if whole {
		text += w.others(j)
	}
	return text
}

func (w words) costs(j *finding.Judged, costs []finding.Comparison) string {
	if len(costs) == 0 {
		return ""
	}
	return ", but " + w.phrases(j, costs, false)
}

func (w words) phrases(j *finding.Judged, all []finding.Comparison, intervals bool) string {
	return units.List(units.Texts(all, func(c finding.Comparison) string { return w.phrase(j, &c, intervals) }))
}

// others names the settings that win something else, with their price.
func (w words) others(j *finding.Judged) string {
	text := ""
	for i := range j.Others {
		o := &j.Others[i]
		text += "; " + w.setting(j, o.Setting) + " " + w.phrase(j, &o.Gain, true) + w.costs(j, o.Costs)
	}
	return text
}

// rounds says on how many rounds a comparison stands; "" without them.
func rounds(j *finding.Judged) string {
	if j.Settings == 0 || j.Rounds == 0 {
		return ""
	}
	return " in " + units.Plural(j.Rounds, "paired round")
}

// compared says what was compared: " (3 settings, 8 rounds)"; "" without them.
func compared(settings, rounds int) string {
	if settings < 1 || rounds < 1 {
		return ""
	}
	return " (" + units.Plural(settings, "setting") + ", " + units.Plural(rounds, "round") + ")"
}

// WorseThan says in one line what the setting that was checked is worse than, and in what. v is the
// verdict whose baseline is that setting.
func WorseThan(v *finding.BenchVerdict, cells []finding.Cell) string {
	w := words{v, cells}
	var all []string
	for i := range w.Judged {
		if j := &w.Judged[i]; won(j) {
			all = append(all, w.worseThan(j))
		}
	}
	return strings.Join(all, "; ")
}

// Pasted is a setting to paste in a container.
type Pasted struct {
	Where string // of several containers; "" = the only one
	*finding.Environment
}

// ToPaste returns the settings that won, in forms to paste in place of the one that was checked. A
// setting that won in several containers is there once.
func ToPaste(v *finding.BenchVerdict, cells []finding.Cell, command []string) []Pasted {
	w := words{v, cells}
	var all []Pasted
	for i := range w.Judged {
		j := &w.Judged[i]
		if !won(j) {
			continue
		}
		e := Paste(&cells[*j.Setting], &cells[planned(j)], command)
		if n := len(all); n > 0 && *all[n-1].Environment == *e {
			all[n-1].Where += " and " + w.where(j)
			continue
		}
		all = append(all, Pasted{w.where(j), e})
	}
	return all
}

func won(j *finding.Judged) bool {
	return (j.Code == finding.Won || j.Code == finding.Spared) && j.Setting != nil
}

// planned returns the cell of the setting that the others were to be compared with.
func planned(j *finding.Judged) int {
	if j.Code == finding.Spared && j.Fails != nil {
		return j.Fails.Cell
	}
	return j.Baseline
}

func (w words) worseThan(j *finding.Judged) string {
	text := units.Join(" ", w.where(j), w.base(planned(j))+" is worse than "+w.setting(j, *j.Setting))
	if j.Code == finding.Spared {
		return text + ": it " + w.failure(j, j.Fails)
	}
	return text + ", which " + w.gains(j, true) + w.costs(j, j.Costs)
}

// autoImport sizes the process in which it is compiled as `snug run` would.
const autoImport = `import _ "github.com/snug-go/snug/auto"`

// Paste returns the setting of a cell in forms to paste. Variables that only base has are unset, if
// the form can do that. If the setting is snug's own plan, the forms let snug set it when the program
// starts, so that it follows the container; command is the program, nil for one without a name here.
func Paste(c, base *finding.Cell, command []string) *finding.Environment {
	set := c.Set()
	own := len(set) > 0 && slices.Contains(c.Labels, labelSnug)
	kept := func(v [2]string) bool {
		return !own && slices.ContainsFunc(set, func(o [2]string) bool { return o[0] == v[0] })
	}
	e := &finding.Environment{}
	if gone := slices.DeleteFunc(base.Set(), kept); len(gone) > 0 {
		names := units.Texts(gone, func(v [2]string) string { return v[0] })
		e.Shell = "unset " + strings.Join(names, " ") + "\n"
		e.Dockerfile = "# without " + strings.Join(names, ", ") + "\n"
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
	e.Shell += strings.Join(units.Texts(words, message.Quote), " ") + "\n"
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
