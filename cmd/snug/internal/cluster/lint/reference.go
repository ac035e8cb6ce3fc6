// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// reference returns the reference to a resource from which a variable is set: the variable
// itself, or another in $(NAME) with unit after it. nil = it is not set from one.
func (s *subject) reference(name string) (k *knob, unit string) {
	k = s.knobs[name]
	if r := k.reference(); r != k {
		return r, k.unit
	}
	return k, ""
}

// called returns the name, for a message, of a variable that is set from k.
func (k *knob) called(name string) string {
	if k.name == name {
		return name
	}
	return name + ", set from $(" + k.name + "),"
}

// resource returns the parts of a reference: "limits" and "cpu".
func (k *knob) resource() (kind, resource string) {
	kind, resource, _ = strings.Cut(k.env.Resource.Text, ".")
	return kind, resource
}

// gives returns the number that a reference gives, as evidence.
func gives(k *knob, unit finding.Unit) []finding.Evidence {
	if !k.known {
		return nil
	}
	n, err := strconv.ParseFloat(k.text, 64)
	if err != nil {
		return nil
	}
	raw := k.env.Resource.Text + " " + k.amount.q.String()
	if k.env.Divisor.Set() {
		raw += ", divisor " + k.env.Divisor.Text
	}
	what := k.name + " in the container"
	return []finding.Evidence{{What: what, Value: n, Unit: unit, Source: "resourceFieldRef", Raw: raw}}
}

// procsDivisor finds a GOMAXPROCS in thousandths of a core.
func procsDivisor(s *subject) {
	k, unit := s.reference("GOMAXPROCS")
	if k == nil || unit != "" {
		return
	}
	kind, resource := k.resource()
	d, ok := divisor(k.env)
	if resource != "cpu" || !ok || d.IsOne() {
		return
	}
	message := "the divisor " + k.env.Divisor.Text + " makes GOMAXPROCS count thousandths of a core, and Go accepts it: "
	if k.known {
		message += k.text + " Ps for " + k.amount.q.String() + " of CPU"
	} else {
		message += "1000 Ps for each core"
	}
	f := s.report("gomaxprocs-divisor", finding.SeverityError, s.o.EnvAt(k.env), message,
		`divisor: "1"; above one core also no GOMAXPROCS`+goProgram)
	f.Evidence = gives(k, finding.UnitCount)
	if k.name == "GOMAXPROCS" {
		f.edit(s.mendProcs(k, kind, s.o.SetDivisor))
	}
}

// memlimitDivisor finds a GOMEMLIMIT in mebibytes that Go reads as bytes.
func memlimitDivisor(s *subject) {
	k, unit := s.reference("GOMEMLIMIT")
	if k == nil || unit != "" && unit != "B" {
		return
	}
	_, resource := k.resource()
	d, ok := divisor(k.env)
	if resource != "memory" || !ok || d.IsOne() || d.Value() == 1 {
		return
	}
	message := "the divisor " + k.env.Divisor.Text + " makes GOMEMLIMIT a number without a unit, which Go reads as bytes: "
	if k.known {
		message += k.text + " bytes for " + k.amount.q.String() + ", so it collects all the time"
	} else {
		message += "one byte for each " + k.env.Divisor.Text + " of the limit, so it collects all the time"
	}
	fix, value := `divisor: "1"`, s.instead(k)
	switch {
	case k.name != "GOMEMLIMIT":
		fix += ", or the unit after $(" + k.name + ")"
	case value != "":
		fix = "GOMEMLIMIT=" + value + " as a literal; the whole limit would leave no room"
	}
	f := s.report("gomemlimit-divisor", finding.SeverityError, s.o.EnvAt(k.env), message, fix)
	f.Evidence = gives(k, finding.UnitBytes)
	if k.name == "GOMEMLIMIT" {
		f.edit(s.setReference(k, value, s.o.SetDivisor))
	}
}

// instead returns the literal for a GOMEMLIMIT that refers to a limit, of which a right reference would leave nothing
// for stacks, cgo and the kernel; "" if the reference is better: the limit is unknown, or changes.
func (s *subject) instead(k *knob) string {
	limit, ok := s.memoryLimit()
	kind, _ := k.resource()
	if of := k.of == s.c || !k.env.Container.Set(); k.name != "GOMEMLIMIT" || !of || !ok {
		return ""
	}
	if kind == "requests" {
		request := s.in.amount(s.o, s.p, s.c, "requests", "memory")
		if request.state == limits.Known && request.q.Value() < limit.q.Value() {
			return ""
		}
	}
	if s.changes(limit, "memory") {
		return ""
	}
	return s.fitting()
}

// changes reports whether a limit of a resource may be another one in the pods to come, or in running ones.
func (s *subject) changes(limit amount, resource string) bool {
	v := s.in.vpas[s.o.Namespace+"/"+s.o.Kind+"/"+s.o.Name]
	return limit.from == "a LimitRange" || covers(v, s.c, "limits", resource) || s.c.Resize[resource].Set()
}

// mending returns an edit that mends a reference.
type mending = func(*manifest.Env) (manifest.Edit, bool)

// mendProcs returns the edit that mends a reference of GOMAXPROCS. If the mended reference, to kind.cpu, would not give
// the plan's number for the limit, it returns one that sets that number, or none if a request was meant.
func (s *subject) mendProcs(k *knob, kind string, mend mending) (manifest.Edit, bool) {
	limit, ok := s.cpuLimit()
	of := s.in.amount(s.o, s.p, s.c, kind, "cpu")
	milli := of.q.Milli()
	gives := podpatch.ByReference(milli)
	if !ok && kind == "requests" && of.state == limits.Known &&
		gives != plan.ProcsForRequest(float64(milli)/1000, &plan.Policy{}) {
		return manifest.Edit{}, false // the plan's number for a request is another
	}
	if !ok || k.of != s.c || of.state != limits.Known || s.changes(limit, "cpu") || gives == advised(limit.q.Milli()) {
		return mend(k.env)
	}
	if kind == "limits" {
		return s.o.SetLiteral(k.env, formatted(advised(limit.q.Milli())))
	}
	return manifest.Edit{}, false
}

// setReference returns the edit that sets a literal, or the one that mends the reference if there is no literal, or
// no place for it.
func (s *subject) setReference(k *knob, literal string, mend mending) (manifest.Edit, bool) {
	if literal != "" {
		if e, ok := s.o.SetLiteral(k.env, literal); ok {
			return e, ok
		}
	}
	return mend(k.env)
}

// wants maps a variable to its resource.
var wants = map[string]string{"GOMAXPROCS": "cpu", "GOMEMLIMIT": "memory"}

// wrongResource finds references to the wrong resource.
func wrongResource(s *subject) {
	if k, _ := s.reference("GOGC"); k != nil && plain(k.env.Resource.Text) {
		f := s.report("reference-wrong-resource", finding.SeverityError, s.o.FieldAt(k.env.Resource),
			k.called("GOGC")+" refers to "+k.env.Resource.Text+
				", but GOGC is the percentage by which the heap may grow: hardly anything is collected",
			"no GOGC, and a GOMEMLIMIT")
		f.Evidence = gives(k, finding.UnitCount)
	}
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k, _ := s.reference(name)
		if k == nil {
			continue
		}
		kind, resource := k.resource()
		real := kind == "limits" || kind == "requests"
		if resource == wants[name] && real || !plain(k.env.Resource.Text) {
			continue
		}
		right := kind + "." + wants[name]
		what := ", not to " + right
		if !real {
			if right = "limits." + wants[name]; strings.HasPrefix(kind, "request") {
				right = "requests." + wants[name]
			}
			what = ", which is neither a limit nor a request: the API server refuses the object"
		}
		fix, value := "resource: "+right, ""
		if name == "GOMEMLIMIT" {
			if value = s.instead(k); value != "" {
				fix = "GOMEMLIMIT=" + value + " as a literal; the whole limit would leave no room"
			}
		}
		f := s.report("reference-wrong-resource", finding.SeverityError, s.o.FieldAt(k.env.Resource),
			k.called(name)+" refers to "+k.env.Resource.Text+what, fix)
		f.Evidence = gives(k, finding.UnitCount)
		mend := func(*manifest.Env) (manifest.Edit, bool) { return s.o.Replace(k.env.Resource, right) }
		switch kind, _, _ := strings.Cut(right, "."); k.name {
		case "GOMAXPROCS":
			f.edit(s.mendProcs(k, kind, mend))
		case name:
			f.edit(s.setReference(k, value, mend))
		}
	}
}

// without finds references to missing limits and requests.
func without(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k, _ := s.reference(name)
		if k == nil || k.of == nil || k.amount.state != limits.None {
			continue
		}
		kind, resource := k.resource()
		if resource != wants[name] || kind != "limits" && kind != "requests" {
			continue
		}
		// A missing limit is no worse than no variable. With GOGC=off the collector waits until
		// the node is full.
		id, severity, what := "reference-without-limit", finding.SeverityInfo, "all the CPUs of the node"
		gc := s.knobs["GOGC"]
		switch {
		case kind == "requests" && resource == "cpu":
			id, severity, what = "reference-without-request", finding.SeverityWarning, "0, which Go ignores"
		case kind == "requests":
			id, severity = "reference-without-request", finding.SeverityError
			what = "0, and a limit of 0 bytes makes Go collect all the time"
		case resource == "memory" && gc != nil && gc.known && gc.text == "off":
			severity = finding.SeverityWarning
			what = "all the memory of the node, and with GOGC=off nothing is collected below that"
		case resource == "memory":
			what = "all the memory of the node"
		}
		s.report(id, severity, s.o.FieldAt(k.env.Resource),
			k.called(name)+" refers to "+k.env.Resource.Text+" of container "+k.of.Name+", which has none: it becomes "+what,
			"a "+inWords(resource)+" "+strings.TrimSuffix(kind, "s")+", or no "+name)
	}
}

// otherContainer finds references to the resources of another container.
func otherContainer(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k, _ := s.reference(name)
		if k == nil || k.of == s.c || !plain(k.env.Container.Text) {
			continue
		}
		severity, what := finding.SeverityWarning, ""
		switch {
		case k.of != nil:
			what = " of container " + s.c.Name + " refers to the resources of container " + k.of.Name + ", not to its own"
		case s.c.Partial():
			continue
		default:
			severity = finding.SeverityError
			what = " refers to the container " + k.env.Container.Text + ", which is not in the pod: the pod does not start"
		}
		s.report("reference-other-container", severity, s.o.FieldAt(k.env.Container), k.called(name)+what,
			"no containerName, which means the container itself")
	}
}

// noDivisor finds references without a divisor.
func noDivisor(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k, _ := s.reference(name)
		if k == nil || k.name != name || k.env.Divisor.Set() || s.c.Loose {
			continue
		}
		f := s.report("divisor-missing", finding.SeverityInfo, s.o.EnvAt(k.env),
			"the reference of "+name+` has no divisor, and the API server adds "0": `+
				"tools that compare, such as Argo CD, show a difference forever",
			`divisor: "1"`)
		f.edit(s.o.SetDivisor(k.env))
	}
}
