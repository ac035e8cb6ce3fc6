// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestBeside: a program that loads Go is listed once, from the next look at it on, and no longer than
// it runs. Of others the mappings are not read again.
func TestBeside(t *testing.T) {
	plain := exec.Command("sleep", "1h")
	if err := plain.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { plain.Process.Kill(); plain.Wait() }()
	pid, lib, load := goprogram.Beside(t)
	a := newScanner(t, Options{})
	listed := func() (all []finding.UnsupportedHere) {
		for _, u := range scan(t, a).Unsupported {
			if u.PID == plain.Process.Pid {
				t.Errorf("%+v", u)
			}
			if u.PID == pid {
				all = append(all, u)
			}
		}
		return all
	}
	if got := listed(); len(got) != 0 {
		t.Fatalf("before it has loaded it: %+v", got)
	}
	load()
	for i := range settling + 2*otherEvery { // rarely looked at by then
		if got := listed(); len(got) != 1 || got[0].Why != "Go built by gccgo, "+lib+"; its runtime is not read" || got[0].GoVersion != nil {
			t.Fatalf("scan %d: %+v", i, got)
		}
	}
	if o := a.others[plain.Process.Pid]; o.beside != nil || o.code == 0 || o.looks <= settling {
		t.Errorf("%+v", o)
	}
}

// TestBesideGone: a process that could not be opened is looked at again.
func TestBesideGone(t *testing.T) {
	s, o := &Scanner{}, other{looks: 1, code: 1}
	s.budgets = budgetsOf(t.Context(), false)
	if s.lookBeside(1<<30, &o); o.code != -1 || o.beside != nil {
		t.Errorf("%+v", o)
	}
}

// TestBesideMany: the list of processes that load Go is bounded, and says how many it lacks. A container of one that is not
// listed is none without Go all the same.
func TestBesideMany(t *testing.T) {
	pid, _, load := goprogram.Beside(t)
	load()
	a := newScanner(t, Options{})
	s := a
	s.budgets = budgetsOf(t.Context(), false)
	for i := range maxOthers + 2 {
		o := other{}
		if i < 2 || i >= maxOthers-1 {
			s.besides = i
			s.lookBeside(pid, &o)
		} else {
			o.beside = &finding.Unsupported{PID: pid}
		}
		if listed := i < maxOthers; o.beside == nil || (o.beside != unlisted) != listed {
			t.Errorf("process %d: %+v", i, o.beside)
		}
		s.others[1<<23+i] = o
	}
	d := a.document(&result{})
	want := finding.Gap{Field: "unsupported", File: "/proc", Why: "2 more processes with Go in a library are not listed"}
	if len(d.Unsupported) != maxOthers || s.besides != maxOthers+2 || !slices.Contains(d.Unknown, want) {
		t.Errorf("%d are listed of %d, %+v", len(d.Unsupported), s.besides, d.Unknown)
	}
}

// TestBesideInPod: a real container whose program has loaded Go is none without Go, and is listed by its names.
func TestBesideInPod(t *testing.T) {
	needRoot(t)
	p := makePod(t, 7)
	pid, _, load := goprogram.Beside(t)
	if err := os.WriteFile(filepath.Join(p.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		t.Fatal(err)
	}
	a := newScanner(t, Options{Names: allNamed{}})
	a.settledAfter = 0
	listed := func() (other, unsupported bool) {
		d := scan(t, a)
		for _, o := range d.Others {
			other = other || *o.PodUID == p.uid
		}
		for _, u := range d.Unsupported {
			unsupported = unsupported || u.PID == pid && u.PodUID != nil && *u.PodUID == p.uid && u.Pod != nil && *u.Pod == "cart-1"
		}
		return other, unsupported
	}
	if other, unsupported := listed(); !other || unsupported {
		t.Errorf("before: among the others %t, unsupported %t", other, unsupported)
	}
	load()
	for i := range settling + 2*otherEvery { // rarely looked at by then
		if other, unsupported := listed(); other || !unsupported {
			t.Errorf("scan %d: among the others %t, unsupported %t", i, other, unsupported)
		}
	}
}
