// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/kube/manifest"
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
				name+" is set "+strconv.Itoa(len(k.earlier)+1)+" times; the last one holds, server-side apply and Flux refuse the object", "one "+name)
			if i == 0 {
				for _, e := range k.earlier {
					f.edit(s.c.RemoveEnv(e))
				}
			}
		}
		if k.hides != "" {
			s.report("env-duplicate", finding.SeverityInfo, s.o.NameAt(k.env),
				name+" is in env and in the ConfigMap "+k.hides+" that envFrom takes: env holds, and a change there has no effect", "one "+name)
		}
	}
}

// sharedLimit finds containers that each take the limits of the pod for their
// own.
func sharedLimit(s *subject) {
	for _, name := range []string{"GOMEMLIMIT", "GOMAXPROCS"} {
		k := s.knobs[name]
		if k == nil || k.env.From != manifest.Resource || k.amount.from != "the pod" || k.of == nil {
			continue
		}
		_, resource := k.resource()
		others := 0
		for _, c := range s.p.Containers {
			if (c.Role == manifest.Main || c.Role == manifest.Sidecar) && c != s.c && !c.Resources.Limits[resource].Set() {
				others++
			}
		}
		if others == 0 || s.c.Role == manifest.Init {
			continue
		}
		what := "memory"
		severity := finding.SeverityWarning
		if resource == "cpu" {
			what, severity = "CPU", finding.SeverityInfo
		}
		f := s.report("pod-limit-shared", severity, s.o.EnvAt(k.env),
			name+" is made of the "+what+" limit of the pod, which "+strconv.Itoa(others)+" more "+plural(others)+" without a limit of its own: each takes all of it for its own",
			"a limit for the container, or a "+name+" written out")
		f.Evidence = gives(k, finding.UnitCount)
	}
}

func plural(n int) string {
	if n == 1 {
		return "container uses"
	}
	return "containers use"
}

// emptyResources finds pods that declare resources and name none.
func emptyResources(s *subject) {
	r := s.p.Resources
	if r == nil || !r.Empty || strings.Contains(s.o.APIVersion, "knative") {
		return
	}
	s.report("pod-resources-empty", finding.SeverityWarning, s.p.ResourcesAt(r),
		"resources of the pod are declared and empty: Kubernetes 1.36 then takes the pod for BestEffort, whatever its containers request, and evicts it first",
		"no resources there").edit(s.p.RemoveResources())
}

// covers tells whether an autoscaler changes a resource of a container, and how.
func covers(v *manifest.VPA, c *manifest.Container, resource string) bool {
	if v == nil || v.Mode == "Off" || c.Role == manifest.Init || c.Role == manifest.Ephemeral {
		return false
	}
	name := "*"
	if v.On[c.Name] || v.Off[c.Name] {
		name = c.Name
	}
	if v.Off[name] || v.RequestsOnly[name] {
		return false
	}
	controls, ok := v.Controls[name]
	if !ok {
		return true
	}
	for _, r := range controls {
		if r == resource {
			return true
		}
	}
	return false
}

// stale finds variables that do not change with what they were made of.
func stale(s *subject) {
	v := s.in.vpas[s.o.Namespace+"/"+s.o.Kind+"/"+s.o.Name]
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT"} {
		k := s.knobs[name]
		if k == nil || k.env.From == manifest.Elsewhere {
			continue
		}
		resource := wants[name]
		if k.known && (k.text == "off" || k.text == "") || k.env.From == manifest.Resource && k.amount.state != limits.Known {
			continue
		}
		limit := s.in.amount(s.o, s.p, s.c, "limits", resource)
		if limit.state != limits.Known || limit.from == "a LimitRange" {
			continue
		}
		policy := s.c.Resize[resource]
		restarts := policy.Text == "RestartContainer"
		inPlace := covers(v, s.c, resource) && (v.Mode == "InPlaceOrRecreate" || v.Mode == "InPlace")
		switch {
		case covers(v, s.c, resource) && k.env.From != manifest.Resource:
			s.report("stale-under-vpa", finding.SeverityWarning, s.at(k),
				name+" is written out, and a VerticalPodAutoscaler changes the "+resource+" limit that it was chosen for: it becomes too much or too little",
				staleFix[name])
		case inPlace && !restarts:
			s.report("stale-on-resize", finding.SeverityWarning, s.at(k),
				name+" is read when the container starts, and a VerticalPodAutoscaler resizes it in place: the variable keeps the old limit",
				"resizePolicy: resourceName: "+resource+", restartPolicy: RestartContainer")
		case policy.Text == "NotRequired":
			s.report("stale-on-resize", finding.SeverityWarning, s.o.FieldAt(policy),
				"the container is to be resized without a restart, and "+name+" is read when it starts: the variable keeps the old limit",
				"restartPolicy: RestartContainer, or no "+name)
		}
	}
}

// staleFix is what follows a limit.
var staleFix = map[string]string{
	"GOMAXPROCS": `a resourceFieldRef to limits.cpu with divisor "1", or none for programs of Go 1.25 and later`,
	"GOMEMLIMIT": `a resourceFieldRef to limits.memory or requests.memory with divisor "1"; or a program with snug/auto, which follows; or controlledValues: RequestsOnly`,
}
