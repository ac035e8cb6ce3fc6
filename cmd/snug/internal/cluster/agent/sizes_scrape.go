// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
)

// workloadLabels are the labels of a workload's series; statLabels has which of its figures it is: mean, p95, most,
// least, sum or count.
var (
	workloadLabels = []string{"namespace", "workload", "container"}
	infoLabels     = []string{"namespace", "workload", "container", "go", "gogc", "gomaxprocs"}
	statLabels     = []string{"namespace", "workload", "container", "stat"}
)

// scrape adds what is kept of the workloads of the last scan.
func (s *sizes) scrape(to *scrape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.document().Workloads {
		if w.Has.Containers > 0 && w.Seen > 0 {
			to.workload(w)
		}
	}
}

func (s *scrape) workload(w *needs.Workload) {
	h := &w.Has
	labels := [...]string{w.Namespace, w.Workload, w.Container, "", "", ""}
	if h.Minor > 0 {
		labels[3] = "1." + strconv.Itoa(h.Minor)
	}
	if h.GOGC != nil {
		labels[4] = strconv.Itoa(*h.GOGC) // -1 = off
	}
	if h.Procs > 0 {
		labels[5] = strconv.Itoa(h.Procs)
	}
	s.labelled(needInfo, float64(h.Containers), s.with(nil, needInfo, labels[:]...))
	s.labelled(needSeen, w.Seen, s.with(nil, needSeen, labels[:3]...))
	m := needSeen
	stats := w.Stats()
	for i, one := range &needs.Names {
		if i == 0 || one.Name != needs.Names[i-1].Name {
			m++ // the metrics have the order of the names
		}
		if labels[3] = one.Stat; !math.IsNaN(stats[i]) {
			s.labelled(m, stats[i], s.with(nil, m, labels[:4]...))
		}
	}
}
