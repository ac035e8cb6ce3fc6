// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/keep"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestSizesOfProcess: what a real process does between two scans is in the sketches of its workload.
func TestSizesOfProcess(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{Names: allNamed{}})
	kept := keep.Open("", "", time.Second, nil)
	look := func() {
		t.Helper()
		box, p := find(scan(t, a), c.pid())
		if p == nil {
			t.Fatal("it is not there")
		}
		named := *box
		named.ContainerNames = finding.ContainerNames{Namespace: new("shop"), Pod: new("web-1"), Name: new("app"), Workload: new("Deployment/web")}
		named.Unit, named.Used, named.Processes = nil, p.Used, []finding.NodeProcess{*p}
		d := &finding.Node{Containers: []finding.Container{named}}
		kept.Add(&snapshot.Snapshot{Node: d, Samples: a.samples(d)}, a.known[c.pid()].last.At)
	}
	look()
	fmt.Fprintln(c.in, "hold") // 40 MiB
	c.says("done")
	look()
	var got *needs.Workload
	kept.Each(func(w *needs.Workload) { got = w })
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
	names := namesOf(t, one.json("web", "shop/web:1", digest), two.json("web", "shop/web:1", digest))
	key, dir := needs.Key{Namespace: "shop", Workload: "Deployment/web", Container: "app"}, t.TempDir()
	look := func(a *Scanner, kept *keep.Store) {
		t.Helper()
		from, err := a.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept.Add(from, time.Now())
	}
	read := func(kept *keep.Store) *needs.Workload {
		t.Helper()
		text, err := kept.Encode()
		if err != nil {
			t.Fatal(err)
		}
		d, err := needs.Decode(text)
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
	a, kept := newScanner(t, Options{Names: names}), keep.Open(dir, "", time.Second, nil)
	look(a, kept)
	time.Sleep(100 * time.Millisecond) // what held for less than 50 ms is forgotten
	for _, c := range children {
		fmt.Fprintln(c.in, "hold")
		c.says("done")
	}
	look(a, kept)
	w := read(kept)
	if w.Has.Containers != 2 || w.Cycles < 2 || w.Mates != 1 || w.Why != "" || !(w.Live.Seconds > w.Seen) || w.Size().LiveMost.N < 40<<20 {
		t.Errorf("%+v", w)
	}
	kept.End()
	again := keep.Open(dir, "", time.Second, nil)
	look(newScanner(t, Options{Names: names}), again)
	if next := read(again); next.Seen != w.Seen || !next.First.Equal(w.First) || next.Has.Containers != 2 || next.Size().LiveMost != w.Size().LiveMost {
		t.Errorf("%+v, was %+v", next, w)
	}
}
