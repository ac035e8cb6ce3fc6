// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// cpuLimit returns the limit of the container; false if it is none or unknown.
func (s *subject) cpuLimit() (amount, bool) {
	a := s.in.amount(s.o, s.p, s.c, "limits", "cpu")
	return a, a.state == limits.Known
}

// follows reports whether the program is known to follow its CPU limit by itself, and
// whether it is known not to.
func (s *subject) follows() (yes, no bool) {
	p := &s.program
	switch {
	case p.State == podpatch.NotGo:
		return false, true
	case p.State != podpatch.IsGo || p.Go.Minor == 0:
		return false, p.Go.Blind
	}
	yes = !p.Go.Blind && p.Go.Minor >= 25
	return yes, !yes
}

// pins finds a GOMAXPROCS that keeps Go from following the CPU limit. If the program is
// unknown, it reports only a reference to the limit. Below one core the plan's own number, which
// is not the runtime's, is right. Only an edit that leaves the plan's number is offered. Go 1.25 does
// not find the limit on nodes with cgroup v1 (internal/cgroup, RuntimeDir), so it is information and no fix.
func pins(s *subject) {
	k := s.knobs["GOMAXPROCS"]
	limit, limited := s.cpuLimit()
	if k == nil || !limited && limit.state == limits.None {
		return
	}
	r := k.reference()
	byLimit := false
	if r != nil {
		d, ok := divisor(r.env)
		if !ok || !d.IsOne() || k.unit != "" || r.of != s.c || r.amount.state == limits.None {
			return
		}
		byLimit = r.refers("limits.cpu")
	}
	at := s.at(k)
	severity, where := finding.SeverityWarning, ""
	if s.program.Go.Minor == 25 {
		severity, where = finding.SeverityInfo, " on nodes with cgroup v2"
	}
	fix := "no GOMAXPROCS" + where
	n, known := int64(0), false
	if k.known {
		n, known = procsOf(k.text)
	}
	own, right := int64(0), int64(0)
	if limited {
		own, right = runtimeProcs(limit.q.Milli()), advised(limit.q.Milli())
		if known && n == right {
			severity = finding.SeverityInfo
		}
		if own != right {
			fix = "GOMAXPROCS=" + formatted(right)
		}
	}
	yes, no := s.follows()
	switch {
	case no || !yes && !byLimit || known && limited && n == right && n != own:
	case !yes:
		f := s.report("gomaxprocs-pins", finding.SeverityInfo, at,
			"programs of Go 1.26 and later set GOMAXPROCS from the CPU limit and follow it when it changes; the variable ends that",
			fix+" if the program is built by Go 1.26 or later with a go line of 1.25 or later; snug check --image NAME=FILE checks that")
		f.Evidence = gives(r, finding.UnitCount)
	case byLimit:
		f := s.report("gomaxprocs-pins", severity, at,
			"the program is built by "+s.program.Version+", which"+where+" sets GOMAXPROCS from the CPU limit and follows it when it changes; the variable ends that", fix)
		f.Evidence = gives(r, finding.UnitCount)
		if own == right && where == "" {
			f.edit(s.c.RemoveEnv(k.env))
		}
	case k.known && limited:
		if !known || n > own {
			return // other rules report it
		}
		if r == nil && n < own { // it may be intended
			severity = finding.SeverityInfo
		}
		f := s.report("gomaxprocs-pins", severity, at,
			"the program is built by "+s.program.Version+", which"+where+" uses "+formatted(own)+" Ps for the CPU limit of "+limit.q.String()+
				" and follows it when it changes; GOMAXPROCS="+k.text+" ends that", fix)
		f.Evidence = []finding.Evidence{
			{What: "GOMAXPROCS in the " + s.noun(), Value: float64(n), Unit: finding.UnitCount, Source: k.source(), Raw: raw(k)},
			{What: "CPU limit", Value: float64(limit.q.Milli()) / 1000, Unit: finding.UnitCores, Source: limit.source("limits.cpu"), Raw: limit.q.String()},
		}
		if r == nil && n == own && own == right && k.in == s.o && where == "" {
			f.edit(s.c.RemoveEnv(k.env))
		}
	}
}

// runtimeProcs returns the runtime's own GOMAXPROCS for a CPU limit, where there are CPUs enough.
func runtimeProcs(milli int64) int64 { return int64(plan.GoProcs(float64(milli) / 1000)) }

// advised returns the GOMAXPROCS that snug chooses for a CPU limit; the runtime's for one above any machine's.
func advised(milli int64) int64 {
	return cmp.Or(plan.ProcsForLimit(float64(milli)/1000, &plan.Policy{}), runtimeProcs(milli))
}

// goProgram says when a container needs no GOMAXPROCS. Below one core the runtime takes 2 Ps, and snug 1.
const goProgram = " for programs of Go 1.26 and later"

// orNone adds to a fix that no GOMAXPROCS gives the same value, if it does.
func orNone(milli int64) string {
	if runtimeProcs(milli) != advised(milli) {
		return ""
	}
	return ", or none" + goProgram
}

// procs returns a literal GOMAXPROCS.
func (s *subject) procs() (int64, bool) {
	k := s.knobs["GOMAXPROCS"]
	if k == nil || !k.known || k.reference() != nil {
		return 0, false
	}
	return procsOf(k.text)
}

// aboveLimit finds a GOMAXPROCS above the CPU limit.
func aboveLimit(s *subject) {
	limit, ok := s.cpuLimit()
	n, set := s.procs()
	if !ok || !set || n <= runtimeProcs(limit.q.Milli()) {
		return
	}
	k := s.knobs["GOMAXPROCS"]
	severity := finding.SeverityInfo
	if plan.TooManyProcs(int(n), float64(limit.q.Milli())/1000) {
		severity = finding.SeverityWarning
	}
	f := s.report("procs-above-quota", severity, s.at(k),
		"GOMAXPROCS is "+k.text+" and the CPU limit is "+limit.q.String()+": the threads use up the quota early in each period, then all are throttled",
		"GOMAXPROCS="+formatted(advised(limit.q.Milli()))+orNone(limit.q.Milli())+"; then measure")
	f.Evidence = []finding.Evidence{
		{What: "GOMAXPROCS in the " + s.noun(), Value: float64(n), Unit: finding.UnitCount, Source: k.source(), Raw: k.text},
		{What: "CPU limit", Value: float64(limit.q.Milli()) / 1000, Unit: finding.UnitCores, Source: limit.source("limits.cpu"), Raw: limit.q.String()},
	}
}

// blind finds Go programs with a CPU limit that they do not read. It needs a known program.
func blind(s *subject) {
	limit, ok := s.cpuLimit()
	if _, no := s.follows(); !no || !ok || s.program.State != podpatch.IsGo || s.program.Automaxprocs != "" || s.c.Partial() {
		return
	}
	c := s.facts()
	for _, e := range podpatch.Decide(&c, &podpatch.Policy{}).Env {
		if e.Name != "GOMAXPROCS" {
			continue
		}
		id, why := "procs-above-quota", "which does not read the CPU limit"
		if s.program.Go.Minor >= 25 {
			id, why = "gated-off", "and its go line is below 1.25, so it does not read the CPU limit"
		}
		whose, fix := "node's", `GOMAXPROCS from resourceFieldRef limits.cpu, divisor "1"`
		add, can := s.c.AddReference(e.Name, e.Resource)
		if e.Value != "" || s.o.Form != manifest.Kubernetes {
			fix = "GOMAXPROCS=" + formatted(advised(limit.q.Milli()))
		}
		if s.o.Form != manifest.Kubernetes {
			whose = "machine's"
		} else if e.Value != "" {
			add, can = s.c.AddEnv(e.Name, e.Value)
		}
		f := s.report(id, finding.SeverityInfo, s.c.At(),
			"the program is built by "+s.program.Version+", "+why+" of "+limit.q.String()+": GOMAXPROCS is the number of the "+whose+" CPUs", fix)
		f.edit(add, can)
	}
}

// subCore finds CPU limits below one core of Go programs.
func subCore(s *subject) {
	limit, ok := s.cpuLimit()
	if !ok || limit.q.Milli() >= 1000 || !s.isGo() {
		return
	}
	at := limit.at
	if at.Line == 0 {
		at = s.c.At()
	}
	message := "the CPU limit of " + limit.q.String() + " is less than one core: a single thread uses up the quota before the period ends, and then the collector is throttled too"
	fix := "a limit of one core where latency matters, or none"
	if n := s.o.Replicas; n > 1 && limit.from == "" {
		message += "; fewer than " + strconv.Itoa(n) + " replicas, each with a whole core, could use the same CPU without being throttled"
		fix = "fewer replicas with a limit of one core, where latency matters"
	}
	f := s.report("sub-core-quota", finding.SeverityInfo, at, message, fix)
	f.Evidence = []finding.Evidence{{What: "CPU limit", Value: float64(limit.q.Milli()) / 1000, Unit: finding.UnitCores, Source: limit.source("limits.cpu"), Raw: limit.q.String()}}
}

// isGo reports whether a container runs a Go program, by its image or its variables.
func (s *subject) isGo() bool {
	return s.program.State == podpatch.IsGo || s.program.State != podpatch.NotGo && len(s.knobs) > 0
}

// leftovers finds automaxprocs where it harms, and AUTOMEMLIMIT where it has no effect.
func leftovers(s *subject) {
	if p := &s.program; p.Automaxprocs != "" {
		if yes, _ := s.follows(); yes && s.knobs["GOMAXPROCS"] == nil && !s.opaque() {
			fix := "a program without automaxprocs"
			if limit, ok := s.cpuLimit(); ok && limit.q.Milli() < 1000 {
				fix += ", and GOMAXPROCS=1 as it gives here"
			}
			s.report("automaxprocs-pins", severityOf("automaxprocs-pins"), s.c.At(),
				"the program is built by "+p.Version+" with automaxprocs "+p.Automaxprocs+", which sets GOMAXPROCS once, rounded down; the runtime then no longer follows the CPU limit",
				fix)
		}
	}
	k := s.knobs["AUTOMEMLIMIT"]
	if k == nil {
		return
	}
	share, err := strconv.ParseFloat(k.text, 64)
	switch other := s.knobs["GOMEMLIMIT"]; {
	case other != nil && !(other.known && other.text == ""):
		s.report("automemlimit-unused", finding.SeverityInfo, s.at(k),
			"AUTOMEMLIMIT has no effect beside GOMEMLIMIT: automemlimit does not change a limit that is set", "one of the two")
	case k.known && k.text != "" && k.text != "off" && (err != nil || !(share > 0 && share <= 1)):
		s.report("automemlimit-unused", finding.SeverityWarning, s.at(k),
			"AUTOMEMLIMIT is "+k.text+", but automemlimit accepts only shares above 0 and up to 1, or off: it sets no limit", `AUTOMEMLIMIT: "0.9"`)
	case s.program.State == podpatch.IsGo && s.program.Automemlimit == "":
		s.report("automemlimit-unused", finding.SeverityWarning, s.at(k),
			"AUTOMEMLIMIT needs a program with automemlimit, and this one is built without it: nothing bounds its heap", s.memlimitFix())
	}
}
