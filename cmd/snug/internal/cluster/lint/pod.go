// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
)

// duplicates finds variables that are set twice.
func duplicates(s *subject) {
	for _, name := range knobNames {
		k := s.knobs[name]
		if k == nil || k.from != "" && len(k.earlier) == 0 {
			continue
		}
		for i, e := range k.earlier {
			f := s.report("env-duplicate", finding.SeverityWarning, s.o.NameAt(e),
				name+" is set "+strconv.Itoa(len(k.earlier)+1)+
					" times; the last one wins, and server-side apply and Flux refuse the object", "one "+name)
			if i == 0 {
				for _, e := range k.earlier {
					f.edit(s.c.RemoveEnv(e))
				}
			}
		}
		if k.hides != "" {
			s.report("env-duplicate", finding.SeverityInfo, s.o.NameAt(k.env),
				name+" is in env and in the ConfigMap "+k.hides+
					" of an envFrom: env wins, and the value in the ConfigMap has no effect", "one "+name)
		}
	}
}

// sharedLimit finds containers that are each sized for the whole limit of the pod.
func sharedLimit(s *subject) {
	for _, name := range []string{"GOMEMLIMIT", "GOMAXPROCS"} {
		k := s.knobs[name].reference()
		if k == nil || k.amount.from != "the pod" || k.of == nil {
			continue
		}
		_, resource := k.resource()
		others := 0
		for _, c := range s.p.Containers {
			if (c.Role == pod.Main || c.Role == pod.Sidecar) && c != s.c && !c.Resources.Limits[resource].Set() {
				others++
			}
		}
		if others == 0 || s.c.Role == pod.Init {
			continue
		}
		severity := finding.SeverityWarning
		if resource == "cpu" {
			severity = finding.SeverityInfo
		}
		f := s.report("pod-limit-shared", severity, s.o.EnvAt(k.env),
			k.called(name)+" refers to the "+inWords(resource)+" limit of the pod, which "+strconv.Itoa(others)+" more "+
				plural(others)+" too: each is sized for all of it",
			"a limit for the container, or a literal "+name)
		f.Evidence = gives(k, finding.UnitCount)
	}
}

// inWords returns the name of a resource in a sentence.
func inWords(resource string) string {
	if resource == "cpu" {
		return "CPU"
	}
	return resource
}

func plural(n int) string {
	if n == 1 {
		return "container uses"
	}
	return "containers use"
}

// sharedSum finds GOMEMLIMITs that each fit into the memory limit of the pod, but not
// together.
func sharedSum(s *subject) {
	if s.p.Resources == nil {
		return
	}
	field := s.p.Resources.Limits["memory"]
	limit := measured(s.o, field, "the pod")
	if !field.Set() || limit.state != limits.Known {
		return
	}
	bound, sum, set := limit.q.Value(), int64(0), 0
	for _, c := range s.p.Containers {
		if c.Role != pod.Main && c.Role != pod.Sidecar {
			continue
		}
		k := newSubject(s.in, s.o, s.p, c).knobs["GOMEMLIMIT"]
		if k == nil || !k.known {
			continue
		}
		n, ok := bytesOf(k.text)
		// Other rules report a GOMEMLIMIT above the limit, or a reference to it.
		if r := k.reference(); ok && n > bound || r != nil && r.amount.from == "the pod" {
			return
		}
		if ok {
			sum += min(n, bound)
			set++
		}
	}
	if set < 2 || sum <= bound {
		return
	}
	f := s.report("pod-limit-shared", finding.SeverityWarning, limit.at,
		"the memory limit of the pod is "+limit.q.String()+", but the GOMEMLIMITs of "+strconv.Itoa(set)+
			" containers add up to "+units.GoMebibytes(sum)+": the kernel kills a process before the collectors react",
		"GOMEMLIMITs whose sum leaves a tenth of the pod's limit")
	f.Evidence = []finding.Evidence{
		{What: "GOMEMLIMITs in the pod", Value: float64(sum), Unit: finding.UnitBytes, Source: "env"},
		limit.bytes("memory limit of the pod", "limits.memory"),
	}
}

// emptyResources finds pods with empty resources.
func emptyResources(s *subject) {
	r := s.p.Resources
	if r == nil || !r.Empty {
		return
	}
	s.report("pod-resources-empty", finding.SeverityWarning, s.p.ResourcesAt(r),
		"the pod declares empty resources: Kubernetes 1.36 then treats it as BestEffort, whatever its containers "+
			"request, and evicts it first",
		"no resources there").edit(s.p.RemoveResources())
}

// covers reports whether an autoscaler changes the limit or the request, by kind, of a
// container's resource.
func covers(v *manifest.VPA, c *manifest.Container, kind, resource string) bool {
	if v == nil || v.Mode == "Off" || c.Role == pod.Init || c.Role == pod.Ephemeral {
		return false
	}
	name := "*"
	if v.On[c.Name] || v.Off[c.Name] {
		name = c.Name
	}
	if v.Off[name] || v.RequestsOnly[name] && kind == "limits" {
		return false
	}
	controls, ok := v.Controls[name]
	return !ok || slices.Contains(controls, resource)
}

// stale finds variables that do not change with the limit or request they depend on.
func stale(s *subject) {
	v := s.in.vpas[s.o.Namespace+"/"+s.o.Kind+"/"+s.o.Name]
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.knobs[name]
		if k == nil || k.env.From == manifest.Elsewhere {
			continue
		}
		resource, kind := wants[name], "limits"
		r := k.reference()
		if k.known && (k.text == "off" || k.text == "") || r != nil && r.amount.state != limits.Known {
			continue
		}
		if r != nil && strings.HasPrefix(r.env.Resource.Text, "requests.") {
			kind = "requests"
		}
		was := s.in.amount(s.o, s.p, s.c, kind, resource)
		if was.state != limits.Known || was.from == "a LimitRange" {
			continue
		}
		noun := strings.TrimSuffix(kind, "s")
		policy := s.c.Resize[resource]
		restarts := policy.Text == "RestartContainer"
		changes := covers(v, s.c, kind, resource)
		switch {
		case changes && r == nil:
			s.report("stale-under-vpa", finding.SeverityWarning, s.at(k),
				name+" is a literal, and a VerticalPodAutoscaler changes the "+inWords(resource)+
					" limit that it was chosen for: it becomes too high or too low",
				staleFix[name])
		case changes && !restarts && (v.Mode == "InPlaceOrRecreate" || v.Mode == "InPlace"):
			s.report("stale-on-resize", finding.SeverityWarning, s.at(k),
				name+" is read when the container starts, and a VerticalPodAutoscaler resizes the container in place: "+
					"the variable keeps the old "+noun,
				"resizePolicy: resourceName: "+resource+", restartPolicy: RestartContainer")
		case policy.Text == "NotRequired":
			s.report("stale-on-resize", finding.SeverityWarning, s.o.FieldAt(policy),
				"a resize does not restart the container, and "+name+" is read when it starts: the variable keeps the old "+noun,
				resizeFix(r != nil, name))
		}
	}
}

// resizeFix returns the fix for a resize: a restart updates a reference, but not a literal.
func resizeFix(reference bool, name string) string {
	if reference {
		return "restartPolicy: RestartContainer, or no " + name
	}
	return "no " + name + " if the program follows its limit by itself (Go 1.26 for GOMAXPROCS, snug/auto for both)"
}

// staleFix is the fix for a literal under an autoscaler, by variable.
var staleFix = map[string]string{
	"GOMAXPROCS": `a resourceFieldRef to limits.cpu with divisor "1"; above one core also none` + goProgram,
	"GOMEMLIMIT": `a resourceFieldRef to limits.memory or requests.memory with divisor "1"; ` +
		`or a program with snug/auto, which follows its limit; or controlledValues: RequestsOnly`,
}
