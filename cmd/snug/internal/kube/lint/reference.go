// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/kube/manifest"
	"github.com/snug-go/snug/limits"
)

// reference is a variable that Go reads and that refers to a resource; nil when
// it does not.
func (s *subject) reference(name string) *knob {
	if k := s.knobs[name]; k != nil && k.env.From == manifest.Resource {
		return k
	}
	return nil
}

// resource is what a reference is of: "limits" and "cpu".
func (k *knob) resource() (kind, resource string) {
	kind, resource, _ = strings.Cut(k.env.Resource.Text, ".")
	return kind, resource
}

// gives is the evidence that a reference gives a number.
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
	return []finding.Evidence{{What: k.name + " in the container", Value: n, Unit: unit, Source: "resourceFieldRef", Raw: raw}}
}

// procsDivisor finds thousandths of cores taken for Ps.
func procsDivisor(s *subject) {
	k := s.reference("GOMAXPROCS")
	if k == nil {
		return
	}
	_, resource := k.resource()
	d, ok := divisor(k.env)
	if resource != "cpu" || !ok || d.IsOne() {
		return
	}
	message := "the divisor " + k.env.Divisor.Text + " makes GOMAXPROCS a number of thousandths of cores, and Go takes it: "
	if k.known {
		message += k.text + " Ps for " + k.amount.q.String() + " of CPU"
	} else {
		message += "1000 Ps for each core"
	}
	f := s.report("gomaxprocs-divisor", finding.SeverityError, s.o.EnvAt(k.env), message, `divisor: "1", or no GOMAXPROCS for programs of Go 1.25 and later`)
	f.Evidence = gives(k, finding.UnitCount)
	f.edit(s.o.SetDivisor(k.env))
}

// memlimitDivisor finds mebibytes taken for bytes.
func memlimitDivisor(s *subject) {
	k := s.reference("GOMEMLIMIT")
	if k == nil {
		return
	}
	_, resource := k.resource()
	d, ok := divisor(k.env)
	if resource != "memory" || !ok || d.IsOne() || d.Value() == 1 {
		return
	}
	message := "the divisor " + k.env.Divisor.Text + " makes GOMEMLIMIT a number without its unit, and Go takes it for bytes: "
	if k.known {
		message += k.text + " bytes for " + k.amount.q.String() + ", so it collects all the time"
	} else {
		message += "a few hundred of them, so it collects all the time"
	}
	f := s.report("gomemlimit-divisor", finding.SeverityError, s.o.EnvAt(k.env), message, `divisor: "1"`)
	f.Evidence = gives(k, finding.UnitBytes)
	f.edit(s.o.SetDivisor(k.env))
}

// wants is the resource that a variable is made for.
var wants = map[string]string{"GOMAXPROCS": "cpu", "GOMEMLIMIT": "memory"}

// wrongResource finds references to another resource than the variable is of.
func wrongResource(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.reference(name)
		if k == nil {
			continue
		}
		kind, resource := k.resource()
		if resource == wants[name] || !plain(k.env.Resource.Text) {
			continue
		}
		right := kind + "." + wants[name]
		f := s.report("reference-wrong-resource", finding.SeverityError, s.o.FieldAt(k.env.Resource),
			name+" refers to "+k.env.Resource.Text+", not to "+right, "resource: "+right)
		f.Evidence = gives(k, finding.UnitCount)
		f.edit(s.o.Replace(k.env.Resource, right))
	}
}

// withoutLimit finds references to limits that there are not.
func withoutLimit(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.reference(name)
		if k == nil || k.of == nil {
			continue
		}
		if kind, resource := k.resource(); kind == "limits" && resource == wants[name] && k.amount.state == limits.None {
			// Alone it is no worse than no variable at all; where the collector waits for
			// the limit, it waits until the node is full.
			severity, what := finding.SeverityInfo, "the memory of the whole node"
			if resource == "cpu" {
				what = "all the CPUs of the node"
			} else if gc := s.knobs["GOGC"]; gc != nil && gc.known && gc.text == "off" {
				severity, what = finding.SeverityWarning, what+", and with GOGC=off nothing is collected before that"
			}
			s.report("reference-without-limit", severity, s.o.FieldAt(k.env.Resource),
				name+" refers to "+k.env.Resource.Text+" of container "+k.of.Name+", which has none: it becomes "+what,
				"a limit for "+resource+", or no "+name)
		}
	}
}

// withoutRequest finds references to requests that there are not.
func withoutRequest(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.reference(name)
		if k == nil || k.of == nil {
			continue
		}
		kind, resource := k.resource()
		if kind != "requests" || resource != wants[name] || k.amount.state != limits.None {
			continue
		}
		severity, what := finding.SeverityWarning, "0, which Go ignores"
		if name == "GOMEMLIMIT" {
			severity, what = finding.SeverityError, "0, and a limit of 0 bytes makes Go collect all the time"
		}
		s.report("reference-without-request", severity, s.o.FieldAt(k.env.Resource),
			name+" refers to "+k.env.Resource.Text+" of container "+k.of.Name+", which has none: it becomes "+what,
			"a request for "+resource+", or no "+name)
	}
}

// otherContainer finds references to the resources of another container.
func otherContainer(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.reference(name)
		if k == nil || k.of == s.c || !plain(k.env.Container.Text) {
			continue
		}
		if k.of == nil {
			if !s.c.Partial() {
				s.report("reference-other-container", finding.SeverityError, s.o.FieldAt(k.env.Container),
					name+" refers to the container "+k.env.Container.Text+", and the pod has none of that name: it does not start",
					"no containerName, which means the container itself")
			}
			continue
		}
		s.report("reference-other-container", finding.SeverityWarning, s.o.FieldAt(k.env.Container),
			name+" of container "+s.c.Name+" is made of what container "+k.of.Name+" may use, not of its own limits",
			"no containerName, which means the container itself")
	}
}

// noDivisor finds references that the API server completes.
func noDivisor(s *subject) {
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.reference(name)
		if k == nil || k.env.Divisor.Set() {
			continue
		}
		f := s.report("divisor-missing", finding.SeverityInfo, s.o.EnvAt(k.env),
			"the reference of "+name+` has no divisor, and the API server adds "0": tools that compare, such as Argo CD, see a difference for ever`,
			`divisor: "1"`)
		f.edit(s.o.SetDivisor(k.env))
	}
}
