// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestSizesOfProcess: what a real process does between two scans is in the sketches of its workload.
func TestSizesOfProcess(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newAgent(t, Options{})
	a.scanner.named = true
	look := func() {
		t.Helper()
		box, p := find(scan(t, a), c.pid())
		if p == nil {
			t.Fatal("it is not there")
		}
		named := *box
		named.ContainerNames = finding.ContainerNames{Namespace: new("shop"), Pod: new("web-1"), Name: new("app"), Workload: new("Deployment/web")}
		named.Unit, named.Used, named.Processes = nil, p.Used, []finding.NodeProcess{*p}
		a.sizes.add(&finding.Node{Containers: []finding.Container{named}}, a.scanner.known, a.scanner.known[c.pid()].last.At)
	}
	look()
	fmt.Fprintln(c.in, "hold") // 40 MiB
	c.says("done")
	look()
	got := a.sizes.of[needs.Key{Namespace: "shop", Workload: "Deployment/web", Container: "app"}]
	s := got.Size()
	if n := got.Allocated.Sum; n < 40<<20 || got.Cycles < 1 || s.Live.N < 40<<20 || !(s.Used.N > 1<<20) { // its pages are not touched
		t.Errorf("%v allocated, %v collections, %v live, %v used", n, got.Cycles, s.Live, s.Used)
	}
	if s.GOGC.N != 77 || s.Procs.N != 7 || s.MemLimit.N != 123<<20 || s.Minor < 18 || got.Why != "" || !s.Rest.Known() || !s.Other.Known() || !s.Goal.Known() || !s.GCCores.Known() {
		t.Errorf("%+v, %s", s, got.Why)
	}
}

// TestSizesOfPods: two pods of a workload, in real cgroups and with names from an API server, are one workload; the next
// agent goes on where this one ended.
func TestSizesOfPods(t *testing.T) {
	needRoot(t)
	const digest = "sha256:" + sum
	one, two := makePod(t, 1), makePod(t, 2)
	children := []*child{one.run(t, self(t)), two.run(t, self(t))}
	s := serveAPI(t)
	s.items = strings.Join([]string{one.json("web", "shop/web:1", digest), two.json("web", "shop/web:1", digest)}, ",")
	names := NewPodNames(s.client(t), "node-1", nil)
	if err := names.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, dir := needs.Key{Namespace: "shop", Workload: "Deployment/web", Container: "app"}, t.TempDir()
	read := func(a *Agent) *needs.Workload {
		t.Helper()
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/needs", nil))
		d, err := needs.Decode(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range d.Workloads {
			if w.Key == key {
				return w
			}
		}
		t.Fatalf("not among %d workloads", len(d.Workloads))
		return nil
	}
	a := newAgent(t, Options{Names: names, State: dir})
	scan(t, a)
	time.Sleep(100 * time.Millisecond) // what held for less than 50 ms is forgotten
	for _, c := range children {
		fmt.Fprintln(c.in, "hold")
		c.says("done")
	}
	scan(t, a)
	w := read(a)
	if w.Has.Containers != 2 || w.Cycles < 2 || w.Mates != 1 || w.Why != "" || !(w.Live.Seconds > w.Seen) || w.Size().LiveMost.N < 40<<20 {
		t.Errorf("%+v", w)
	}
	a.sizes.end()
	again := newAgent(t, Options{Names: names, State: dir})
	scan(t, again)
	if next := read(again); next.Seen != w.Seen || !next.First.Equal(w.First) || next.Has.Containers != 2 || next.Size().LiveMost != w.Size().LiveMost {
		t.Errorf("%+v, was %+v", next, w)
	}
}
