// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// pod returns a world worked out by hand: a v2 hierarchy with 2 cores on /pod, and 4 cores and 1
// GiB on the own group below it.
func pod(ns string) *World {
	w := Build(nil)
	t := w.newTree("cgroup2")
	t.Controllers, t.Enabled = []string{"cpu", "memory"}, 9
	t.Own, t.NS = t.Root.make("/pod/app"), t.Root.make(ns)
	t.Root.make("/pod").Quota = QuotaOf(200000, 100000)
	t.Own.Quota, t.Own.Max = QuotaOf(400000, 100000), SizeOf(1<<30)
	w.Hierarchies = []*Tree{t}
	return w
}

func TestTruth(t *testing.T) {
	tests := []struct {
		name, ns string
		do       func(w *World, cg *Tree)
		quota    float64 // 0 = none
		hidden   bool
		memory   int64
	}{
		{"nothing is mounted", "", func(w *World, cg *Tree) {}, 0, true, 0},
		{"the whole tree", "", func(w *World, cg *Tree) { w.mount("/cg", cg.Root) }, 2, false, 1 << 30},
		{"the own group", "/pod/app", func(w *World, cg *Tree) { w.mount("/cg", cg.Own) }, 4, false, 1 << 30},
		{"from above a namespace", "/pod/app", func(w *World, cg *Tree) { w.mount("/cg", cg.Root) }, 2, false, 1 << 30},
		{"the same, and the process is not named", "/pod/app", func(w *World, cg *Tree) {
			w.Process.Elsewhere = true
			w.mount("/cg", cg.Root)
		}, 0, true, 0},
		{"covered from above", "", func(w *World, cg *Tree) {
			w.mount("/mnt/cg", cg.Root)
			w.mount("/mnt", w.newTree("tmpfs").Root)
		}, 0, true, 0},
		{"and uncovered", "", func(w *World, cg *Tree) {
			w.mount("/mnt/cg", cg.Root)
			w.unmount(w.mount("/mnt", w.newTree("tmpfs").Root), false)
		}, 2, false, 1 << 30},
		{"the own group is covered", "", func(w *World, cg *Tree) {
			w.mount("/cg", cg.Root)
			w.mount("/cg/pod/app", w.newTree("tmpfs").Root)
		}, 2, true, 0},
		{"and shown elsewhere", "", func(w *World, cg *Tree) {
			w.mount("/cg", cg.Root)
			w.mount("/own", cg.Own)
			w.mount("/cg/pod/app", w.newTree("tmpfs").Root)
		}, 2, false, 1 << 30},
		{"closed", "", func(w *World, cg *Tree) {
			w.mount("/cg", cg.Root)
			cg.Root.kid("pod").Denied = true
		}, 0, true, 0},
		{"replaced in its place", "", func(w *World, cg *Tree) {
			w.mount("/cg", cg.Root)
			w.mount("/cg", cg.Own)
		}, 4, false, 1 << 30},
		{"moved over another", "", func(w *World, cg *Tree) {
			m := w.mount("/first", cg.Own)
			w.mount("/cg", cg.Root)
			w.move(m, "/cg")
		}, 4, false, 1 << 30},
		{"removed", "", func(w *World, cg *Tree) {
			w.mount("/cg", cg.Root)
			w.remove(cg.Own)
		}, 2, true, 0},
	}
	for _, test := range tests {
		w := pod(test.ns)
		test.do(w, w.Hierarchies[0])
		got := w.Truth()
		if got.CPU.Cores != test.quota || got.CPU.Hidden != test.hidden || got.Hard.Bytes != test.memory ||
			(got.CPU.State == Unknown) != (test.quota == 0 && test.hidden) {
			t.Errorf("%s: %+v, %+v", test.name, got.CPU, got.Hard)
		}
	}
}

// TestMountTable: the kernel's format, one line of each kind.
func TestMountTable(t *testing.T) {
	w := pod("/pod")
	w.mount("/c g", w.Hierarchies[0].Root).ID = 7
	w.mount("/c g/pod", w.Hierarchies[0].Own).ID = 5
	for _, want := range []string{" 0:22 /.. /c\\040g rw", "\n5 7 0:22 /app /c\\040g/pod rw", " - cgroup2 cgroup2 rw"} {
		if !strings.Contains(w.mountinfo(), want) {
			t.Errorf("%q is not in\n%s", want, w.mountinfo())
		}
	}
	if got := w.groups(); got != "0::/app\n" {
		t.Errorf("groups %q", got)
	}
}

// TestRandom: a seed gives one world; worlds differ; a world without some of its steps is a world.
func TestRandom(t *testing.T) {
	if !reflect.DeepEqual(Build(Random(1)).Entries(), Build(Random(1)).Entries()) {
		t.Error("a seed makes two worlds")
	}
	if reflect.DeepEqual(Build(Random(1)).Entries(), Build(Random(2)).Entries()) {
		t.Error("two seeds make one world")
	}
	limited := func(w *World) bool { return len(w.Hierarchies) > 0 && w.Truth().CPU.State == Known }
	for seed := uint64(1); ; seed++ {
		steps := Random(seed)
		if !limited(Build(steps)) {
			continue
		}
		short := Shrink(steps, limited)
		// A hierarchy, a limit and a mount.
		if len(short) > 4 || !limited(Build(short)) || slices.ContainsFunc(short, func(s Step) bool { return strings.HasPrefix(s.Text, "process") }) {
			t.Errorf("%d steps of %d left", len(short), len(steps))
		}
		return
	}
}
