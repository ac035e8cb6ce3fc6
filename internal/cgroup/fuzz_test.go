// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// FuzzQuota: cpu.max and v1's two files. A known quota is positive and finite; a malformed text
// gives the zero Quota.
func FuzzQuota(f *testing.F) {
	for _, s := range []string{"200000 100000\n", "max 100000\n", "-1\n", "17592186044415 1000\n", "1 0\n", "150000", ""} {
		f.Add([]byte(s), []byte("100000\n"))
	}
	f.Fuzz(func(t *testing.T, text, period []byte) {
		for _, q := range []Quota{CPUMax(text), CFSQuota(text, period)} {
			n, state := q.Cores()
			if state == Known && (!(n > 0) || math.IsInf(n, 0) || q.State != Known) {
				t.Errorf("%q %q: %v cores of %+v", text, period, n, q)
			}
			if q.State == Unknown && q.Micros != 0 && q.Plain {
				t.Errorf("%q %q: unknown, yet %+v", text, period, q)
			}
		}
	})
}

// FuzzNumbers: the flat files, memory limits, meminfo, masks and pressure.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"536870912\n", "max\n", "-1\n", "18446744073709551616\n", "nr_throttled 3\nkey 5\n",
		"MemTotal:  16384000 kB\n", "Cpus_allowed:\tff,ffffffff\n", "some avg10=1.5 avg60=0 avg300=0 total=12\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, state := Bytes(b); state == Known && (n < 0 || n >= 1<<62) || state != Known && n != 0 {
			t.Errorf("Bytes(%q) = %d, %d", b, n, state)
		}
		if n, ok := MemTotal(b); ok && n <= 0 {
			t.Errorf("MemTotal(%q) = %d", b, n)
		}
		var set CPUs
		if ok := set.AddAllowed(b); ok != (set.Count() > 0) || set.Count() > 4*len(b) {
			t.Errorf("AddAllowed(%q) = %v, %d CPUs", b, ok, set.Count())
		}
		for _, key := range []string{"key", "nr_throttled", ""} {
			if n, ok := Field(b, key); ok && n < 0 {
				t.Errorf("Field(%q, %q) = %d", b, key, n)
			}
		}
		if some, _ := Pressure(b); some.Avg10 < 0 || some.Total < 0 {
			t.Errorf("Pressure(%q) = %+v", b, some)
		}
	})
}

// FuzzGroup: /proc/PID/cgroup. The path found is absolute and occurs in the text.
func FuzzGroup(f *testing.F) {
	for _, s := range []string{"0::/a\n", "9:cpu,cpuacct:/docker/abc\n0::/\n", "4:memory:/x:y\n", "::", "1:name=cpu:/n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, controller := range []string{"cpu", "memory", "cpuset", ""} {
			g, list := Find(text, controller)
			if g.Path == "" {
				continue
			}
			if g.Path[0] != '/' || !bytes.Contains(text, []byte(":"+g.Path)) || !Any(text) || g.V1 != HasWord(list, controller) {
				t.Errorf("Find(%q, %q) = %+v, %q", text, controller, g, list)
			}
		}
	})
}

// FuzzMounts: mountinfo, and the order of its mounts.
func FuzzMounts(f *testing.F) {
	f.Add([]byte("31 1 0:2 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"), "/a/b", "0::/a/b\n")
	f.Add([]byte("32 1 0:3 /docker/a /c\\040d rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n"), "/docker/a/b", "1:cpu:/docker/a\n")
	f.Add([]byte("32 1 0:3 /../.. /c rw - cgroup2 x rw\n32 1 0:3 / /c rw - tmpfs x rw\n"), "/../../x", "0::/\n")
	f.Fuzz(func(t *testing.T, text []byte, path, group string) {
		mounts, _ := Mounts(text)
		for _, m := range mounts {
			if m.Root == "" || m.Root[0] != '/' || m.Point == "" || m.Point[0] != '/' {
				t.Errorf("Mounts(%q): %+v", text, m)
			}
		}
		for _, g := range []Group{{Path: path}, {Path: path, V1: true}} {
			all := Candidates(mounts, g, "cpu")
			for i, c := range all {
				if c.V1 != g.V1 || c.Sought != (c.Sought && c.Above() > 0) || !c.Sought && !strings.HasSuffix(path, c.Rest) && path != "/" {
					t.Errorf("Candidates(%q, %q): %+v", text, path, c)
				}
				if i > 0 && c.Levels > all[i-1].Levels {
					t.Errorf("Candidates(%q, %q): %+v after %+v", text, path, c, all[i-1])
				}
			}
		}
		if dir, _ := RuntimeDir([]byte(group), text, 26); dir != "" && dir[0] != '/' {
			t.Errorf("RuntimeDir(%q, %q) = %q", group, text, dir)
		}
	})
}
