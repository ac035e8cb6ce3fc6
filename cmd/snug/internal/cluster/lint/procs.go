// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// cpuLimit returns the limit of the container; false if it is none or unknown.
func (s *subject) cpuLimit() (amount, bool) {
	a := s.in.amount(s.o, s.p, s.c, "limits", "cpu")
	return a, a.state == limits.Known
}

// pins finds a GOMAXPROCS from a reference to the CPU limit, which keeps Go from following the limit. Below one core
// the reference gives the plan's number, and the runtime would not.
func pins(s *subject) {
	k := s.knobs["GOMAXPROCS"]
	r := k.reference()
	if r == nil || r.amount.state == limits.None || r.of != s.c || !r.refers("limits.cpu") || k.unit != "" {
		return
	}
	if d, ok := divisor(r.env); !ok || !d.IsOne() {
		return
	}
	if limit, ok := s.cpuLimit(); ok && runtimeProcs(limit.q.Milli()) != advised(limit.q.Milli()) {
		return
	}
	f := s.report("gomaxprocs-pins", finding.SeverityInfo, s.at(k),
		"programs of Go 1.26 and later set GOMAXPROCS from the CPU limit and follow it when it changes; "+
			"the variable ends that",
		"no GOMAXPROCS if the program is built by Go 1.26 or later with a go line of 1.25 or later")
	f.Evidence = gives(r, finding.UnitCount)
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
		"GOMAXPROCS is "+k.text+" and the CPU limit is "+limit.q.String()+
			": the threads use up the quota early in each period, then all are throttled",
		"GOMAXPROCS="+formatted(advised(limit.q.Milli()))+orNone(limit.q.Milli())+"; then measure")
	f.Evidence = []finding.Evidence{k.procs(s, n), limit.cores("CPU limit", "limits.cpu")}
}

// subCore finds CPU limits below one core of containers with a variable of Go.
func subCore(s *subject) {
	limit, ok := s.cpuLimit()
	if !ok || limit.q.Milli() >= 1000 || len(s.knobs) == 0 {
		return
	}
	at := limit.at
	if at.Line == 0 {
		at = s.c.At()
	}
	message := "the CPU limit of " + limit.q.String() + " is less than one core: a single thread uses up the quota " +
		"before the period ends, and then the collector is throttled too"
	fix := "a limit of one core where latency matters, or none"
	if n := s.o.Replicas; n > 1 && limit.from == "" {
		message += "; fewer than " + strconv.Itoa(n) +
			" replicas, each with a whole core, could use the same CPU without being throttled"
		fix = "fewer replicas with a limit of one core, where latency matters"
	}
	f := s.report("sub-core-quota", finding.SeverityInfo, at, message, fix)
	f.Evidence = []finding.Evidence{limit.cores("CPU limit", "limits.cpu")}
}

// leftovers finds AUTOMEMLIMIT where it has no effect.
func leftovers(s *subject) {
	k := s.knobs["AUTOMEMLIMIT"]
	if k == nil {
		return
	}
	share, err := strconv.ParseFloat(k.text, 64)
	switch other := s.knobs["GOMEMLIMIT"]; {
	case other != nil && !(other.known && other.text == ""):
		s.report("automemlimit-unused", finding.SeverityInfo, s.at(k),
			"AUTOMEMLIMIT has no effect beside GOMEMLIMIT: automemlimit does not change a limit that is set",
			"one of the two")
	case k.known && k.text != "" && k.text != "off" && (err != nil || !(share > 0 && share <= 1)):
		s.report("automemlimit-unused", finding.SeverityWarning, s.at(k),
			"AUTOMEMLIMIT is "+k.text+", but automemlimit accepts only shares above 0 and up to 1, or off: it sets no limit",
			`AUTOMEMLIMIT: "0.9"`)
	}
}

// unused is how many times the Ps a CPU request may be without a finding: the runtime's own threads and
// system calls run beside the Ps.
const unused = 2

// requestAboveProcs finds a CPU request that the Ps cannot use.
func requestAboveProcs(s *subject) {
	n, set := s.procs()
	request := s.in.amount(s.o, s.p, s.c, "requests", "cpu")
	if !set || request.state != limits.Known || request.q.Milli() < unused*1000*n {
		return
	}
	k := s.knobs["GOMAXPROCS"]
	f := s.report("request-above-procs", finding.SeverityWarning, s.at(k),
		"GOMAXPROCS is "+k.text+" and the container requests "+request.q.String()+
			" CPUs: the rest is reserved, and Go code cannot use it",
		"no GOMAXPROCS, or a request of what it uses")
	f.Evidence = []finding.Evidence{k.procs(s, n), request.cores("CPU request", "requests.cpu")}
}

// scaling finds targets of a HorizontalPodAutoscaler that the load of a Go program cannot move.
func scaling(s *subject) {
	o := s.in.hpas[s.o.Namespace+"/"+s.o.Kind+"/"+s.o.Name]
	if o == nil {
		return
	}
	for _, t := range o.HPA.Targets {
		percent, err := strconv.ParseInt(t.Percent, 10, 64)
		if err != nil || t.Container != s.c.Name && (t.Container != "" || len(s.p.Containers) > 1) {
			continue // others add to it
		}
		switch t.Resource {
		case "cpu":
			s.unreachable(o, t, percent)
		case "memory":
			s.constant(o, t, percent)
		}
	}
}

// unreachable finds a share of the CPU request that the Ps cannot use up.
func (s *subject) unreachable(o *manifest.Object, t manifest.Target, percent int64) {
	n, set := s.procs()
	request := s.in.amount(s.o, s.p, s.c, "requests", "cpu")
	if !set || request.state != limits.Known || request.q.Milli() <= 0 {
		return
	}
	most := n * 1000 * 100 / request.q.Milli()
	if most >= percent {
		return
	}
	k := s.knobs["GOMAXPROCS"]
	f := s.report("hpa-cpu-unreachable", finding.SeverityWarning, s.at(k),
		fmt.Sprintf("%s scales at %d %% of the CPU request (%s), and GOMAXPROCS=%s uses about %d %% of it at most: "+
			"it never adds a pod", o.Title(), percent, request.q.String(), k.text, most),
		"no GOMAXPROCS, or a smaller request or target")
	f.Evidence = []finding.Evidence{
		k.procs(s, n), request.cores("CPU request", "requests.cpu"), targeted(o, t, percent),
	}
}

func targeted(o *manifest.Object, t manifest.Target, percent int64) finding.Evidence {
	share := float64(percent) / 100
	return finding.Evidence{What: "target", Value: share, Unit: finding.UnitRatio, Source: o.Title(), Raw: t.Percent}
}

// constant finds a share of the memory request that does not follow the load: without GOGC the heap grows to
// GOMEMLIMIT and stays there.
func (s *subject) constant(o *manifest.Object, t manifest.Target, percent int64) {
	gogc, limit := s.knobs["GOGC"], s.knobs["GOMEMLIMIT"]
	if gogc == nil || !gogc.known || gogc.text != "off" || limit == nil || limit.known && limit.text == "off" {
		return
	}
	f := s.report("hpa-memory-constant", finding.SeverityWarning, s.at(gogc),
		fmt.Sprintf("%s scales at %d %% of the memory request, and with GOGC=off the heap fills GOMEMLIMIT under any load",
			o.Title(), percent),
		"a target for CPU or requests, or no GOGC=off")
	f.Evidence = []finding.Evidence{
		{What: "GOGC in the " + s.noun(), Source: gogc.source(), Raw: gogc.text},
		targeted(o, t, percent),
	}
}
