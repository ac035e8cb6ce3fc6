// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) plan(d *finding.Plan) {
	switch settings := Settings(d); {
	case settings != "" && d.Mode == "observe":
		p.line("%s, if SNUG=observe were not set", settings)
	case settings != "":
		p.line("%s", settings)
	case !d.ChosenByGo() && d.GOMAXPROCS.Code == d.GOMEMLIMIT.Code:
		p.line("nothing to set: %s", message.Clean(d.GOMAXPROCS.Text))
	default:
		p.line("%s", nothing(d))
	}
	p.line("")
	procs := "leave"
	if n := d.GOMAXPROCS.Value; n != nil {
		procs = strconv.FormatInt(*n, 10)
	}
	rows := [][]string{{"knob", "value", "why, and from where"}}
	add := func(knob, value string, r finding.Reason) {
		rows = append(rows, []string{knob, value, why(r)})
		if file := sourceText(r.Source); file != "" && r.Code != envSet {
			rows = append(rows, []string{"", "", file}) // below, because paths are long
		}
	}
	reason := d.GOMAXPROCS.Reason
	if d.ChosenByGo() {
		reason.Text = byGo(d, "it") + ": " + reason.Text
	}
	add("GOMAXPROCS", procs, reason)
	add("GOMEMLIMIT", amount(d.GOMEMLIMIT.Value, units.Bytes), d.GOMEMLIMIT.Reason)
	add("GOGC", amount(d.GOGC.Value, percentage), d.GOGC.Reason)
	p.table(rows)
	p.line("")
	lead := "by itself "
	if d.GOMAXPROCS.Code == envSet || d.GOMEMLIMIT.Code == envSet {
		lead = "without these variables "
	}
	p.line("%s%s", lead, defaultText(&d.Runtime, d.Program))
	if g := d.Program; g != nil {
		p.line("for %s%s", message.Clean(g.File), inside(g))
		for _, s := range g.Setters {
			p.line("it links %s, which can set knobs by itself", message.Clean(s))
		}
	}
	p.target(d.Target)
	p.notes(d.Warnings, d.Unknown)
	p.mounts(d.Mounts)
	if len(d.GOMAXPROCS.Ignored)+len(d.GOMEMLIMIT.Ignored)+len(d.GOGC.Ignored) > 0 {
		p.line("")
	}
	p.ignored("GOMAXPROCS", d.GOMAXPROCS.Ignored)
	p.ignored("GOMEMLIMIT", d.GOMEMLIMIT.Ignored)
	p.ignored("GOGC", d.GOGC.Ignored)
	p.next(d.Next)
}

// envSet is the reason code of a knob that the operator set.
const envSet = "env-set"

// defaultText says what Go does by default, and whether that equals the plan. program may be nil.
func defaultText(r *finding.Runtime, program *finding.Program) string {
	who, and := "Go 1.25 and later", ""
	if r.Go125 != nil {
		who, and = "Go 1.26 and later", "; Go 1.25 looks elsewhere, and would use "+strconv.Itoa(*r.Go125)
	}
	if r.Go != nil {
		who = message.Clean(*r.Go)
	}
	if r.Assumed != nil {
		and += "; snug knows the releases up to Go " + *r.Assumed + ", and assumes that it reads the quota as that one does"
	}
	switch {
	case r.Crashes:
		return who + " would crash: " + r.Text + and
	case r.GOMAXPROCS == nil:
		return who + ": " + r.Text
	}
	differs := ""
	if !r.Agrees {
		differs = " (not the plan)"
	}
	if n := r.Automaxprocs; n != nil {
		differs += ", or " + strconv.Itoa(*n) + " by automaxprocs in it, which rounds the quota down,"
	}
	memory := " and no GOMEMLIMIT"
	if r.Automemlimit {
		memory = " and the GOMEMLIMIT that automemlimit in it may set"
	}
	if program != nil {
		differs += unless(program.ProcsSetBy)
		if by := unless(program.MemorySetBy); by != "" {
			memory += strings.TrimSuffix(by, ",")
		}
	}
	memory += ": "
	return who + " would use GOMAXPROCS=" + strconv.Itoa(*r.GOMAXPROCS) + differs + memory + r.Text + and
}

// unless names functions that set another value when called.
func unless(by []string) string {
	if len(by) == 0 {
		return ""
	}
	const limit = 3
	names := by[:min(len(by), limit)]
	more := ""
	if n := len(by) - limit; n > 0 {
		more = " or " + strconv.Itoa(n) + " more"
	}
	return ", unless " + message.Clean(strings.Join(names, " or ")) + more + " in it sets another,"
}

func inside(g *finding.Program) string {
	if g.Main == "" {
		return ""
	}
	return " (" + message.Clean(g.Main) + ")"
}

// ignored lists the sources that did not decide.
func (p *Page) ignored(knob string, reasons []finding.Reason) {
	for _, r := range reasons {
		where := sourceText(r.Source)
		if where != "" {
			where = " (" + where + ")"
		}
		p.line("not used for %s: %s%s [%s]", knob, message.Clean(r.Text), where, message.Clean(r.Code))
	}
}

func why(r finding.Reason) string { return message.Clean(r.Text) + " [" + message.Clean(r.Code) + "]" }

func amount(a *finding.Amount, print func(int64) string) string {
	switch {
	case a == nil:
		return "leave"
	case a.Off:
		return "off"
	}
	return print(a.N)
}

func percentage(n int64) string { return strconv.FormatInt(n, 10) + " %" }

func (p *Page) verdict(d *finding.Verdict) {
	settings := Settings(d.Plan)
	switch {
	case d.Plan.Mode == "off":
		settings = "; " + message.Clean(d.Plan.GOMAXPROCS.Text) + ", so nothing is set"
	case settings == "":
		settings = ": " + nothing(d.Plan)
	default:
		settings = ": " + settings
	}
	p.line("%s%s", LimitsSummary(d.Limits), settings)
	if d.Limits.Limited() {
		p.line("%s", defaultText(&d.Plan.Runtime, nil))
	}
	p.notes(d.Plan.Warnings, d.Plan.Unknown)
	p.processes(d.Worst)
	if d.All > len(d.Worst) {
		p.line("")
		p.line("%d of %d Go processes; snug ps lists them all", len(d.Worst), d.All)
	}
	p.next(d.Next)
}

// byGo says who chooses the GOMAXPROCS of a plan that sets none.
func byGo(d *finding.Plan, what string) string {
	if n := d.Runtime.Go125; n != nil {
		return "Go 1.26 and later choose " + what + " by themselves, Go 1.25 would use " + strconv.Itoa(*n)
	}
	return "Go itself chooses " + what
}

// nothing says that a plan sets nothing.
func nothing(d *finding.Plan) string {
	if !d.ChosenByGo() {
		return "nothing to set"
	}
	return "nothing to set: " + byGo(d, "GOMAXPROCS="+strconv.FormatInt(*d.GOMAXPROCS.Value, 10))
}

// Settings returns the knobs to set as you would type them; "" if there are none.
func Settings(d *finding.Plan) string {
	var set []string
	for _, v := range d.Set {
		set = append(set, v.Name+"="+v.Value)
	}
	return strings.Join(set, " ")
}
