// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"testing"
	"testing/fstest"
)

// TestFollowerOfARemovedGroup: it looks up the process's new group at once. The removed group
// has no files, which alone would mean no limit.
func TestFollowerOfARemovedGroup(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	m := fstest.MapFS{
		"proc/self/cgroup":               file("0::/a\n"),
		"proc/self/mountinfo":            file("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
		"sys/fs/cgroup/cgroup.procs":     file(""),
		"sys/fs/cgroup/a/cgroup.procs":   file("1\n"),
		"sys/fs/cgroup/a/cpu.max":        file("100000 100000\n"),
		"sys/fs/cgroup/a/memory.max":     file("1048576\n"),
		"sys/fs/cgroup/b/c/cgroup.procs": file("1\n"),
		"sys/fs/cgroup/b/c/cpu.max":      file("200000 100000\n"),
		"sys/fs/cgroup/b/c/memory.max":   file("2097152\n"),
	}
	f := &Follower{m: new(machine), r: reader{tree: fsTree{m}, tables: []string{ownMounts}}}
	f.r.start("/proc/self")
	var l Limits
	f.Read(&l)
	if l.CPU.Quota != Of(1.0) || l.Memory.Hard != Of[int64](1<<20) {
		t.Fatalf("before: %+v, %+v", l.CPU.Quota, l.Memory.Hard)
	}
	m["proc/self/cgroup"] = file("0::/b/c\n")
	for _, name := range []string{"cgroup.procs", "cpu.max", "memory.max"} {
		delete(m, "sys/fs/cgroup/a/"+name)
	}
	if changed := f.Read(&l); !changed || l.CPU.Quota != Of(2.0) || l.Memory.Hard != Of[int64](2<<20) {
		t.Errorf("changed %v: %+v, %+v", changed, l.CPU.Quota, l.Memory.Hard)
	}
	// Disabling a controller removes its limit.
	delete(m, "sys/fs/cgroup/b/c/cpu.max")
	if f.Read(&l); l.CPU.Quota != NoLimit[float64]() {
		t.Errorf("switched off: %+v", l.CPU.Quota)
	}
}
