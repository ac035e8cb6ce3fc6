// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

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
		"GOMAXPROCS is "+k.text+" and the container requests "+request.q.String()+" CPUs: the rest is reserved, and Go code cannot use it",
		"no GOMAXPROCS, or a request of what it uses")
	f.Evidence = procsAndRequest(s, k, n, request)
}

func procsAndRequest(s *subject, k *knob, n int64, request amount) []finding.Evidence {
	return []finding.Evidence{
		{What: "GOMAXPROCS in the " + s.noun(), Value: float64(n), Unit: finding.UnitCount, Source: k.source(), Raw: k.text},
		{What: "CPU request", Value: float64(request.q.Milli()) / 1000, Unit: finding.UnitCores, Source: request.source("requests.cpu"), Raw: request.q.String()},
	}
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
		fmt.Sprintf("%s scales at %d %% of the CPU request (%s), and GOMAXPROCS=%s uses about %d %% of it at most: it never adds a pod", o.Title(), percent, request.q.String(), k.text, most),
		"no GOMAXPROCS, or a smaller request or target")
	f.Evidence = append(procsAndRequest(s, k, n, request), finding.Evidence{
		What: "target", Value: float64(percent) / 100, Unit: finding.UnitRatio, Source: o.Title(), Raw: t.Percent})
}

// constant finds a share of the memory request that does not follow the load: without GOGC the heap grows to
// GOMEMLIMIT and stays there.
func (s *subject) constant(o *manifest.Object, t manifest.Target, percent int64) {
	gogc, limit := s.knobs["GOGC"], s.knobs["GOMEMLIMIT"]
	if gogc == nil || !gogc.known || gogc.text != "off" || limit == nil || limit.known && limit.text == "off" {
		return
	}
	f := s.report("hpa-memory-constant", finding.SeverityWarning, s.at(gogc),
		fmt.Sprintf("%s scales at %d %% of the memory request, and with GOGC=off the heap fills GOMEMLIMIT under any load", o.Title(), percent),
		"a target for CPU or requests, or no GOGC=off")
	f.Evidence = []finding.Evidence{
		{What: "GOGC in the " + s.noun(), Source: gogc.source(), Raw: gogc.text},
		{What: "target", Value: float64(percent) / 100, Unit: finding.UnitRatio, Source: o.Title(), Raw: t.Percent},
	}
}
