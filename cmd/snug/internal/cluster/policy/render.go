// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/deploy/helm/snug/files"
	"github.com/snug-go/snug/internal/plan"
)

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files.Templates, "policy/*.tmpl"))
})

// rendering is the data of the templates: a configuration, as expressions of CEL.
type rendering struct {
	*Config

	Suffixed string // name of the policy
	Action   string
	Warn     *rendering // a copy that only warns, whatever Check is
	Here     string     // only the chart sets it: the namespace without which the policies do nothing

	PolicyLabel, InjectLabel, ProcsLabel, RestartLabel     string
	AddedAnnotation, ObservedAnnotation, SkippedAnnotation string
	Enabled, Disabled                                      string

	// MemoryShare is GOMEMLIMIT in bytes, from x.memory. It is unset if the limit is below
	// MinMemory or the share below MinShare.
	MemoryShare         string
	MinMemory, MinShare int64
	// MaxCores and MaxBytes are above those of any machine.
	MaxCores, MaxBytes int64
	// ReferenceIf is whether a reference gives the right GOMAXPROCS for x.cpu, in
	// thousandths of a core; LimitProcs is the literal otherwise, RequestProcs the one for
	// x.request, in cores.
	ReferenceIf, LimitProcs, RequestProcs string

	Codes struct{ Memory, Reference, Value, Request string }
}

// action returns an action as the API server writes it.
func action(a Action) string { return strings.ToUpper(string(a[:1])) + string(a[1:]) }

// Render returns the policies, for Kubernetes 1.36 and later, as YAML documents.
func Render(c *Config) string { return render(c, append([]string{"fit"}, checks(c)...)) }

// Checks returns the policies that change no pod, for Kubernetes 1.30 and later, as YAML documents;
// "" = the configuration turns them off.
func Checks(c *Config) string { return render(c, checks(c)) }

// checks returns the names of the templates of the checks that are on.
func checks(c *Config) []string {
	var parts []string
	if c.Resize != Off {
		parts = append(parts, "resize")
	}
	if c.Check != Off {
		parts = append(parts, "values")
	}
	return parts
}

func render(c *Config, parts []string) string {
	r := rendering{
		Config:      c,
		PolicyLabel: PolicyLabel, InjectLabel: InjectLabel, ProcsLabel: ProcsLabel, RestartLabel: RestartLabel,
		AddedAnnotation: AddedAnnotation, ObservedAnnotation: ObservedAnnotation, SkippedAnnotation: SkippedAnnotation,
		Enabled: Enabled, Disabled: Disabled,
		MinMemory: plan.MinMemory, MinShare: plan.MinValue,
		MaxCores: podpatch.MaxMilli / 1000, MaxBytes: podpatch.MaxBytes,
	}
	r.Codes.Memory, r.Codes.Reference = podpatch.MemoryShare, podpatch.ProcsReference
	r.Codes.Value, r.Codes.Request = podpatch.ProcsValue, podpatch.ProcsRequest
	r.figures()

	r.Action = action(c.Check)
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("---\n")
		}
		r.Suffixed = c.Name + "-" + part
		warn := r
		warn.Action = action(Warn)
		r.Warn = &warn
		// The templates are embedded, and a test renders all their branches.
		if err := templates().ExecuteTemplate(&b, part+".yaml.tmpl", &r); err != nil {
			panic(err)
		}
	}
	return b.String()
}

// figures sets the expressions that depend on numbers.
func (r *rendering) figures() {
	r.MemoryShare = fmt.Sprintf("x.memory - (x.memory / 10 > %d ? x.memory / 10 : %[1]d)", plan.MinHeadroom)
	if m := r.Memory; m.Percent > 0 {
		r.MemoryShare = "int(double(x.memory) * " + double(m.Percent) + " / 100.0)"
		if m.Less > 0 {
			r.MemoryShare += " - " + strconv.FormatInt(m.Less, 10)
		}
	}
	// Like package podpatch. MinProcs 0 is package plan's minimum: 2, but 1 for a limit below one core.
	limitMin, requestMin := strconv.Itoa(r.MinProcs), strconv.Itoa(r.MinProcs)
	if r.MinProcs == 0 {
		limitMin, requestMin = "(x.cpu < 1000 ? 1 : 2)", "2"
	}
	switch {
	case r.Round != plan.Ceil:
		r.ReferenceIf = "false"
	case r.MinProcs == 0:
		r.ReferenceIf = "x.cpu != 1000"
	case r.MinProcs == 1:
		r.ReferenceIf = "true"
	default:
		r.ReferenceIf = "x.cpu > " + strconv.Itoa((r.MinProcs-1)*1000)
	}
	r.LimitProcs = rounded("double(x.cpu) / 1000.0", r.Round, limitMin)
	r.RequestProcs = "0"
	if r.RequestFactor > 0 {
		ps := "x.request * " + double(r.RequestFactor)
		r.RequestProcs = "(x.request <= 0.0 || " + ps + " >= " + double(podpatch.MaxMilli/1000) + " ? 0 : " +
			rounded(ps, r.Round, requestMin) + ")"
	}
}

// rounded returns an expression for Ps from an expression in cores.
func rounded(cores string, round plan.Round, least string) string {
	n := ""
	switch round {
	case plan.Floor:
		n = "int(" + cores + ")"
	case plan.Nearest:
		n = "int(" + cores + " + 0.5)"
	default:
		n = "int(" + cores + ") + (" + cores + " > double(int(" + cores + ")) ? 1 : 0)"
	}
	return fmt.Sprintf("[%s].map(n, n < %s ? %[2]s : n)[0]", n, least)
}

// double returns a number as a double of CEL.
func double(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
