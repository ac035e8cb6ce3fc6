// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"reflect"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// TestUnknown: a saved document keeps none and unknown apart.
func TestUnknown(t *testing.T) {
	w := &Watch{Head: NewHead(KindTop), Processes: []TopProcess{{Name: "server"}}}
	p := &w.Processes[0]
	p.GOMAXPROCS.Know(2, "")
	p.Quota.Unknown("/sys/fs/cgroup/cpu.max", "permission denied")
	p.Heap.Because("memory is not read")
	p.Unknown = []Gap{{Field: "program", File: "/proc/7", Why: "its memory may not be read"}}
	for _, gap := range Gaps(p, "/proc/7") {
		if gap.Field == "quota_cores" || gap.Field == "heap_bytes" {
			p.Unknown = append(p.Unknown, gap)
		}
	}
	Settle(p, p.Unknown)
	for _, f := range []struct {
		what        string
		known, read bool
		figure      interface {
			Known() bool
			Read() bool
		}
	}{
		{"GOMAXPROCS", true, true, p.GOMAXPROCS},
		{"quota", false, false, p.Quota},
		{"heap", false, false, p.Heap},
		{"memory limit", false, true, p.MemoryLimit},
	} {
		if f.figure.Known() != f.known || f.figure.Read() != f.read {
			t.Errorf("%s: %+v", f.what, f.figure)
		}
	}
	text, err := Encode(w)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(text)
	if err != nil || !reflect.DeepEqual(again, w) {
		t.Errorf("%s: %v, %+v\nwant %+v", text, err, again, w)
	}
}

// TestGaps: every unknown figure is listed by its path, with its source or the given file.
func TestGaps(t *testing.T) {
	d := &Limits{}
	d.Settle()
	d.CPU.Quota.Unknown("/sys/fs/cgroup/cpu.max", "permission denied")
	d.Memory.Events.OOM = figure.Of[int64]{}
	want := []Gap{{"cpu.quota_cores", "/sys/fs/cgroup/cpu.max", "permission denied"}, {"memory.events.oom", "here", ""}}
	if got := Gaps(d, "here"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestUnknownLevel: a gap with the file of a level makes its quota unknown, not those of others.
func TestUnknownLevel(t *testing.T) {
	d := &Limits{Head: NewHead(KindLimits), Unknown: []Gap{{"cpu.quota_cores", "/a/cpu.max", "permission denied"}}}
	d.CPU.Levels = []Level{{Source: Source{File: "/a/cpu.max"}}, {Source: Source{File: "/cpu.max"}}}
	text, _ := Encode(d)
	again, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	levels := again.(*Limits).CPU.Levels
	if levels[0].Quota.Read() || !levels[1].Quota.Read() {
		t.Errorf("%+v", levels)
	}
}
