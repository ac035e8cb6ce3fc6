// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

const unreclaimable = "memory.unreclaimable_bytes"

func openCharge(t *testing.T, fsys fs.FS) *handle {
	t.Helper()
	return openParts(t, limits.Process{FS: fsys}, limits.Counters|limits.Unreclaimable)
}

// charged expects a figure; if it is unknown, it must be listed exactly once.
func charged(t *testing.T, when string, h *handle, want int64, from string) {
	t.Helper()
	var gaps []limits.Gap
	l := read(t, h)
	for _, g := range l.Gaps {
		if g.Field == unreclaimable {
			gaps = append(gaps, g)
		}
	}
	if got := l.Memory.Unreclaimable; want >= 0 && (got != limits.Of(want) || len(gaps) > 0) {
		t.Errorf("%s: %v, listed as unknown %v, want %d", when, got, gaps, want)
	} else if want < 0 && (got.State != limits.Unknown || len(gaps) != 1 || gaps[0].File != from || gaps[0].Why == "") {
		t.Errorf("%s: %v, listed as unknown %v, want one for %s", when, got, gaps, from)
	}
}

func TestChargeFollowsTheTightestLevel(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	const inner, outer, root = "sys/fs/cgroup/a/b/", "sys/fs/cgroup/a/", "sys/fs/cgroup/"
	set(t, f, inner+"memory.stat", "anon 100\n")
	set(t, f, outer+"memory.stat", "anon 200\n")
	set(t, f, root+"memory.stat", "anon 300\n")
	h := openCharge(t, f)
	charged(t, "the parent is tightest", h, 200, "")
	set(t, f, outer+"memory.stat", "anon 250\nshmem 1\n")
	charged(t, "it holds more", h, 251, "")
	set(t, f, inner+"memory.max", "536870912\n")
	charged(t, "its own is tightest", h, 100, "")
	set(t, f, outer+"memory.high", "268435456\n")
	charged(t, "the parent's memory.high is", h, 251, "")
	for _, dir := range []string{inner, outer} {
		set(t, f, dir+"memory.max", "max\n")
		set(t, f, dir+"memory.high", "max\n")
	}
	charged(t, "no level has a limit", h, 100, "")
	set(t, f, root+"memory.max", "99999999999999\n")
	charged(t, "the machine is smaller than every limit", h, 100, "")
	set(t, f, "proc/self/cgroup", "0::/a\n")
	for range 4 {
		read(t, h)
	}
	charged(t, "moved", h, 251, "")
}

func TestChargeOfV1(t *testing.T) {
	f := load(t, "v1-parent-tighter")
	const inner, outer = "sys/fs/cgroup/memory/job/", "sys/fs/cgroup/memory/"
	const limit = "\nhierarchical_memory_limit 536870912\n"
	set(t, f, inner+"memory.stat", "total_rss 100\ntotal_shmem 10"+limit)
	set(t, f, outer+"memory.stat", "total_rss 200\ntotal_shmem 20"+limit)
	h := openCharge(t, f)
	charged(t, "no kernel memory accounting", h, 220, "")
	set(t, f, inner+"memory.limit_in_bytes", "268435456\n")
	charged(t, "its own is tightest", h, 110, "")
	set(t, f, inner+"memory.stat", "total_rss 150\ntotal_shmem 10"+limit)
	charged(t, "it holds more", h, 160, "")
	set(t, f, outer+"memory.limit_in_bytes", "134217728\n")
	charged(t, "the parent is again", h, 220, "")
	set(t, f, outer+"memory.kmem.usage_in_bytes", "7\n")
	set(t, f, inner+"memory.kmem.usage_in_bytes", "5\n")
	for range 32 { // missing files are retried
		read(t, h)
	}
	charged(t, "with kernel memory", h, 227, "")
	set(t, f, inner+"memory.limit_in_bytes", "67108864\n")
	charged(t, "with its own", h, 165, "")
}

// hierarchical_memory_limit belongs to a hidden level: only the own group's memory can be
// read.
func TestChargeBelowAHiddenLimit(t *testing.T) {
	f := load(t, "v1-hierarchical-limit-tighter")
	l := read(t, openCharge(t, f))
	if want := limits.Of[int64](20971520); l.Memory.Unreclaimable.N < want.N || l.Memory.Unreclaimable.State != limits.Known {
		t.Errorf("%v, want the group's own rss of %v at least", l.Memory.Unreclaimable, want)
	}
}

func TestChargeThatCannotBeRead(t *testing.T) {
	const stat, kmem = "sys/fs/cgroup/memory/memory.stat", "sys/fs/cgroup/memory/memory.kmem.usage_in_bytes"
	good := "total_rss 200\nhierarchical_memory_limit 536870912\n"
	for _, c := range []struct {
		name  string
		spoil func(f *fixture.FS) error
		file  string
	}{
		{"memory.stat denied", func(f *fixture.FS) error { return f.Deny(stat) }, "/" + stat},
		{"memory.stat gone", func(f *fixture.FS) error { return f.Remove(stat) }, "/" + stat},
		{"memory.stat garbage", func(f *fixture.FS) error { return f.Set(stat, "total_rss x\n") }, "/" + stat},
		{"memory.kmem denied", func(f *fixture.FS) error { return f.Deny(kmem) }, "/" + kmem},
		{"memory.kmem garbage", func(f *fixture.FS) error { return f.Set(kmem, "-1\n") }, "/" + kmem},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "v1-parent-tighter")
			set(t, f, stat, good)
			set(t, f, kmem, "11\n")
			if err := c.spoil(f); err != nil {
				t.Fatal(err)
			}
			h := openCharge(t, f)
			charged(t, "at first", h, -1, c.file)
			charged(t, "again", h, -1, c.file)
			before := read(t, h)
			set(t, f, stat, good)
			set(t, f, kmem, "11\n")
			for range 32 {
				read(t, h)
			}
			charged(t, "it is back", h, 211, "")
			if n := len(before.Gaps); n == 0 || before.Gaps[n-1].Field != unreclaimable {
				t.Error("Limits that were handed out changed")
			}
		})
	}
}

func TestChargeWithoutAGroup(t *testing.T) {
	f := load(t, "v2-simple")
	set(t, f, "proc/self/cgroup", "3:cpu:/\n")
	charged(t, "no memory controller", openCharge(t, f), -1, "/proc/self/cgroup")
	set(t, f, "proc/self/cgroup", "0::/../x\n")
	charged(t, "the group is out of sight", openCharge(t, f), -1, "/proc/self/mountinfo")
}

// A part that is not asked for costs nothing.
func TestChargeIsReadOnRequest(t *testing.T) {
	f := &reads{FS: load(t, "v2-simple")}
	set(t, f.FS.(*fixture.FS), "sys/fs/cgroup/memory.stat", "anon 100\n")
	l := read(t, open(t, f, 0))
	if l.Memory.Unreclaimable != (limits.Value[int64]{}) || f.opened["sys/fs/cgroup/memory.stat"] > 0 {
		t.Errorf("%v, files %v", l.Memory.Unreclaimable, f.opened)
	}
	charged(t, "asked", openCharge(t, f), 100, "")
}

// On v1 the limits also need memory.stat of the own group.
func TestChargeReadsOneFileOnce(t *testing.T) {
	f := &reads{FS: load(t, "v1-parent-tighter")}
	set(t, f.FS.(*fixture.FS), "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "268435456\n")
	h := openCharge(t, f)
	read(t, h)
	const stat = "sys/fs/cgroup/memory/job/memory.stat"
	before := f.read[stat]
	read(t, h)
	if n := f.read[stat] - before; n != 1 {
		t.Errorf("memory.stat is read %d times a poll, want once", n)
	}
}

// reads counts the files opened and read in a file system.
type reads struct {
	fs.FS
	opened, read map[string]int
}

func (r *reads) Open(name string) (fs.File, error) {
	if r.opened == nil {
		r.opened, r.read = map[string]int{}, map[string]int{}
	}
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	r.opened[name]++
	return &counted{f, r, name}, nil
}

type counted struct {
	fs.File
	r    *reads
	name string
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	if off == 0 {
		c.r.read[c.name]++
	}
	return c.File.(interface {
		ReadAt([]byte, int64) (int, error)
	}).ReadAt(b, off)
}

func TestReadLeavesTheChargeOut(t *testing.T) {
	f := load(t, "v1-parent-tighter")
	l, err := limits.Read(limits.Process{FS: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range l.Gaps {
		if strings.Contains(g.Field, "unreclaimable") {
			t.Errorf("%v", g)
		}
	}
}
