// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
)

// facts returns the facts for podpatch, including variables from ConfigMaps.
func (s *subject) facts() podpatch.Container {
	c := s.described()
	c.Opaque, c.Set = s.opaque(), map[string]bool{}
	for name := range s.knobs {
		c.Set[name] = true
	}
	return c
}

// described returns the facts from the container, its pod and a LimitRange.
func (s *subject) described() podpatch.Container {
	p := s.p.Value()
	cpu, request := s.in.amount(s.o, s.p, s.c, "limits", "cpu"), s.in.amount(s.o, s.p, s.c, "requests", "cpu")
	memory := s.in.amount(s.o, s.p, s.c, "limits", "memory")
	return p.Facts(s.c.Value(), s.c.Role, p.Beside(), pod.Given{
		CPULimit: cpu.value(pod.Milli), CPURequest: request.value(pod.Milli),
		MemoryLimit: memory.value(pod.Bytes), OfPod: memory.from == "the pod",
	})
}

// value returns an amount in one of package pod's units.
func (a *amount) value(in func(quantity.Quantity) limits.Value[int64]) limits.Value[int64] {
	if a.state != limits.Known {
		return limits.Value[int64]{State: a.state}
	}
	return in(a.q)
}

// memlimitFix returns the GOMEMLIMIT that the container should get.
func (s *subject) memlimitFix() string {
	c := s.facts()
	c.Set, c.Opaque = nil, false
	for _, e := range podpatch.Decide(&c, &podpatch.Policy{OptIn: true}).Env {
		if e.Name == "GOMEMLIMIT" {
			return "GOMEMLIMIT=" + e.Value
		}
	}
	if c.MemoryShared {
		return "a memory limit for the container; or GOMEMLIMITs whose sum leaves a tenth of the pod's limit"
	}
	return "a GOMEMLIMIT of nine tenths of the memory limit"
}

// memoryLimit returns the limit of the container; false if it is none or unknown.
func (s *subject) memoryLimit() (amount, bool) {
	a := s.in.amount(s.o, s.p, s.c, "limits", "memory")
	return a, a.state == limits.Known
}

// leastBytes is the memory below which an amount in thousandths of a byte is a slip of the pen.
const leastBytes = 1 << 20

// milliBytes finds a memory limit or request in thousandths of a byte.
func milliBytes(s *subject) {
	r := &s.c.Resources
	for kind, own := range map[string]map[string]manifest.Field{"limits": r.Limits, "requests": r.Requests} {
		field := own["memory"]
		number, milli := strings.CutSuffix(field.Text, "m")
		a := measured(s.o, field, "")
		if a.state != limits.Known || !milli || a.q.Value() >= leastBytes {
			continue
		}
		f := s.report("memory-milli", finding.SeverityError, a.at,
			kind+".memory is "+field.Text+", thousandths of a byte: "+units.Plural(a.q.Value(), "byte"),
			number+"M, or "+number+"Mi")
		f.Evidence = []finding.Evidence{a.bytes("memory in "+kind, kind+".memory")}
	}
}

// atLimit finds GOMEMLIMITs that leave no room below the limit.
func atLimit(s *subject) {
	k := s.knobs["GOMEMLIMIT"]
	limit, ok := s.memoryLimit()
	if k == nil || !k.known || !ok {
		return
	}
	// With another divisor the number is not a size.
	if d, one := divisor(k.env); k.env.From == manifest.Resource && (!one || !d.IsOne()) {
		return
	}
	n, ok := bytesOf(k.text)
	bound := limit.q.Value()
	if !ok || n < bound {
		return
	}
	label, name, effect := "memory limit", "the memory limit", "the kernel kills the process"
	if limit.key == "MemoryHigh" {
		label, name, effect = "MemoryHigh", "MemoryHigh", "the kernel slows the program down"
	}
	evidence := []finding.Evidence{
		{What: "GOMEMLIMIT in the " + s.noun(), Value: float64(n), Unit: finding.UnitBytes, Source: k.source(), Raw: raw(k)},
		limit.bytes(label, "limits.memory"),
	}
	if n > bound {
		f := s.report("gomemlimit-above-limit", finding.SeverityWarning, s.at(k),
			"GOMEMLIMIT ("+k.text+") is above "+name+" ("+limit.q.String()+"): "+effect+" before the collector reacts",
			s.memlimitFix())
		f.Evidence = evidence
		return
	}
	f := s.report("gomemlimit-at-limit", finding.SeverityWarning, s.at(k),
		"GOMEMLIMIT equals "+name+": thread stacks, cgo and kernel memory have no room, and "+effect+" first", s.roomFix(k))
	f.Evidence = evidence
}

// source returns the name of a limit in its file.
func (a *amount) source(kubernetes string) string {
	if a.key != "" {
		return a.key
	}
	return kubernetes
}

// bytes returns an amount of memory as evidence; kubernetes is its name in a manifest.
func (a *amount) bytes(what, kubernetes string) finding.Evidence {
	return finding.Evidence{
		What: what, Value: float64(a.q.Value()), Unit: finding.UnitBytes, Source: a.source(kubernetes), Raw: a.q.String(),
	}
}

// cores is bytes for an amount of CPU.
func (a *amount) cores(what, kubernetes string) finding.Evidence {
	e := a.bytes(what, kubernetes)
	e.Value, e.Unit = float64(a.q.Milli())/1000, finding.UnitCores
	return e
}

// procs returns a GOMAXPROCS as evidence.
func (k *knob) procs(s *subject, n int64) finding.Evidence {
	return finding.Evidence{
		What: "GOMAXPROCS in the " + s.noun(), Value: float64(n), Unit: finding.UnitCount, Source: k.source(), Raw: k.text,
	}
}

// source returns where a variable is set.
func (k *knob) source() string {
	if k.in.Form == manifest.EnvFile {
		return k.from
	}
	return "env"
}

// raw returns the text of a variable in the manifest.
func raw(k *knob) string {
	if k.env.From == manifest.Resource {
		return k.env.Resource.Text
	}
	return k.text
}

// roomFix returns how GOMEMLIMIT can leave room.
func (s *subject) roomFix(k *knob) string {
	fix := s.memlimitFix()
	if k.reference() != nil && !s.facts().MemoryShared {
		fix += " as a literal"
	}
	request := s.in.amount(s.o, s.p, s.c, "requests", "memory")
	own := request.state == limits.Known && request.from == ""
	if limit, ok := s.memoryLimit(); ok && own && k.refers("limits.memory") {
		if share := float64(request.q.Value()) / float64(limit.q.Value()); share >= 0.5 && share <= 0.95 {
			fix += "; or a reference to requests.memory, which is less"
		}
	}
	return fix
}
