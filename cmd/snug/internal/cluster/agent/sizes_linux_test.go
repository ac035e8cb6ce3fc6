// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestSizesOfProcess: what a real process does between two scans is in the sketches of its workload.
func TestSizesOfProcess(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newAgent(t, Options{})
	look := func() {
		t.Helper()
		box, p := find(scan(t, a), c.pid())
		if p == nil {
			t.Fatal("it is not there")
		}
		named := *box
		named.ContainerNames = finding.ContainerNames{Namespace: new("shop"), Pod: new("web-1"), Name: new("app"), Workload: new("Deployment/web")}
		named.Unit, named.Processes = nil, []finding.NodeProcess{*p}
		a.sizes.add(&finding.Node{Containers: []finding.Container{named}}, a.scanner.known, a.scanner.known[c.pid()].last.At)
	}
	look()
	fmt.Fprintln(c.in, "hold") // 40 MiB
	c.says("done")
	look()
	got := a.sizes.of[needs.Key{Namespace: "shop", Workload: "Deployment/web", Container: "app"}]
	s := got.Size()
	if n, _ := got.Allocated.Mean(); n*got.Allocated.Seconds < 40<<20 || got.Cycles < 1 || s.Live.N < 40<<20 || !(s.Used.N > 1<<20) { // its pages are not touched
		t.Errorf("%v allocated, %v collections, %v live, %v used", n*got.Allocated.Seconds, got.Cycles, s.Live, s.Used)
	}
	if s.GOGC.N != 77 || s.Procs.N != 7 || s.MemLimit.N != 123<<20 || s.Minor < 18 || got.Why != "" || !s.Rest.Known() || !s.Other.Known() || !s.Goal.Known() || !s.GCCores.Known() {
		t.Errorf("%+v, %s", s, got.Why)
	}
}
