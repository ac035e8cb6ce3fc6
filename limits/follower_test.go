// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"io/fs"
	"strconv"
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

// A sized tree is a machine with memory of its own.
type sized struct {
	fsTree
	ram *int64
}

func (s sized) memory(lxcfs bool) (ram, space int64) {
	if lxcfs {
		ram = *s.ram
	}
	return ram, -1
}

// TestFollowsLxcfs: MemTotal of lxcfs is followed whether or not it is a limit yet. It is none while it is
// the machine's memory, which may change.
func TestFollowsLxcfs(t *testing.T) {
	const gib = 1 << 30
	none := NoLimit[int64]()
	for _, c := range []struct {
		name    string
		ram     [2]int64
		total   [2]int64 // 0: MemTotal cannot be read
		mounted bool     // lxcfs is mounted later, and the process moves
		want    [2]Value[int64]
	}{
		{"a limit that appears", [2]int64{8 * gib, 8 * gib}, [2]int64{8 * gib, gib / 2}, false, [2]Value[int64]{none, Of[int64](gib / 2)}},
		{"a limit that goes away", [2]int64{8 * gib, 8 * gib}, [2]int64{gib, 8 * gib}, false, [2]Value[int64]{Of[int64](gib), none}},
		{"unreadable at first", [2]int64{8 * gib, 8 * gib}, [2]int64{0, gib}, false, [2]Value[int64]{{}, Of[int64](gib)}},
		{"hotplug", [2]int64{8 * gib, 12 * gib}, [2]int64{8 * gib, 12 * gib}, false, [2]Value[int64]{none, none}},
		{"mounted later", [2]int64{8 * gib, 8 * gib}, [2]int64{8 * gib, 8 * gib}, true, [2]Value[int64]{none, none}},
		{"mounted later, with a limit", [2]int64{8 * gib, 8 * gib}, [2]int64{8 * gib, gib}, true, [2]Value[int64]{none, Of[int64](gib)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
			const mounts, lxcfs = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "31 20 0:27 /proc/meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw\n"
			m := fstest.MapFS{
				"proc/self/cgroup":             file("0::/a\n"),
				"proc/self/mountinfo":          file(mounts + lxcfs),
				"sys/fs/cgroup/cgroup.procs":   file(""),
				"sys/fs/cgroup/a/cgroup.procs": file("1\n"),
				"sys/fs/cgroup/b/cgroup.procs": file("1\n"),
			}
			if c.mounted {
				m["proc/self/mountinfo"] = file(mounts)
			}
			ram := new(int64)
			f := &Follower{m: new(machine), r: reader{tree: sized{fsTree{m}, ram}, tables: []string{ownMounts}}}
			f.r.start("/proc/self")
			for i, want := range c.want {
				*ram = c.ram[i]
				m["proc/meminfo"] = file("MemTotal: " + strconv.FormatInt(c.total[i]>>10, 10) + " kB\n")
				if c.total[i] == 0 {
					m["proc/meminfo"] = &fstest.MapFile{Mode: fs.ModeDir}
				}
				if i == 1 && c.mounted {
					m["proc/self/mountinfo"], m["proc/self/cgroup"] = file(mounts+lxcfs), file("0::/b\n")
				}
				var l Limits
				for range 1 + i*relook { // a move is seen by the fourth
					f.Read(&l)
				}
				if l.Memory.Hard != want {
					t.Errorf("read %d: %v, want %v; %+v", i, l.Memory.Hard, want, l.Gaps)
				}
			}
		})
	}
}
