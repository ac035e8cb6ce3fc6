// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"testing/fstest"
)

// FuzzQuota: cpu.max and v1's two files. A known quota is a positive, finite
// number; a text that is not understood gives nothing.
func FuzzQuota(f *testing.F) {
	for _, s := range []string{"200000 100000\n", "max 100000\n", "-1\n", "17592186044415 1000\n", "1 0\n", "150000", ""} {
		f.Add([]byte(s), []byte("100000\n"))
	}
	f.Fuzz(func(t *testing.T, text, period []byte) {
		for _, q := range []quota{parseCPUMax(text), parseV1Quota(text, period)} {
			cores := q.cores()
			if n, ok := cores.Get(); ok && (!(n > 0) || math.IsInf(n, 0) || q.state != Known) {
				t.Errorf("%q %q: %v cores of %+v", text, period, n, q)
			}
			if q.state == Unknown && q.micros != 0 && q.plain {
				t.Errorf("%q %q: unknown, yet %+v", text, period, q)
			}
		}
	})
}

// FuzzNumbers: the flat files, memory limits, meminfo, masks and pressure.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"536870912\n", "max\n", "-1\n", "18446744073709551616\n", "nr_throttled 3\nkey 5\n",
		"anon 7\nshmem 5\nkernel 3\nslab_reclaimable 4\n", "total_rss 7\ntotal_shmem 9223372036854775807\n",
		"MemTotal:  16384000 kB\n", "Cpus_allowed:\tff,ffffffff\n", "some avg10=1.5 avg60=0 avg300=0 total=12\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := parseBytes(b).Get(); ok && (n < 0 || n >= noLimit) {
			t.Errorf("parseBytes(%q) = %d", b, n)
		}
		if n, ok := parseMemTotal(b).Get(); ok && n <= 0 {
			t.Errorf("parseMemTotal(%q) = %d", b, n)
		}
		if n, ok := parseAffinity(b).Get(); ok && (n <= 0 || n > 4*len(b)) {
			t.Errorf("parseAffinity(%q) = %d", b, n)
		}
		for _, key := range []string{"key", "nr_throttled", ""} {
			if n, ok := field(b, key).Get(); ok && n < 0 {
				t.Errorf("field(%q, %q) = %d", b, key, n)
			}
		}
		for key, charge := range map[string]Value[int64]{"total_rss": unreclaimableV1(b), "anon": unreclaimableV2(b)} {
			if n, ok := charge.Get(); ok && (n < 0 || !bytes.Contains(b, []byte(key))) || charge.State == None {
				t.Errorf("unreclaimable memory of %q = %v", b, charge)
			}
		}
		if p := parsePressure(b); p.Some10.N < 0 || p.SomeTotal < 0 {
			t.Errorf("parsePressure(%q) = %+v", b, p)
		}
	})
}

// FuzzGroup: /proc/PID/cgroup. What is found is an absolute path that stands
// in the text.
func FuzzGroup(f *testing.F) {
	for _, s := range []string{"0::/a\n", "9:cpu,cpuacct:/docker/abc\n0::/\n", "4:memory:/x:y\n", "::", "1:name=cpu:/n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, controller := range []string{"cpu", "memory", "cpuset"} {
			h := findGroup(text, controller)
			if h.path == "" {
				continue
			}
			if h.path[0] != '/' || !bytes.Contains(text, []byte(":"+h.path)) {
				t.Errorf("findGroup(%q, %q) = %+v", text, controller, h)
			}
		}
	})
}

// FuzzMounts: mountinfo, and the choice among its mounts.
func FuzzMounts(f *testing.F) {
	f.Add([]byte("31 1 0:2 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"), "/a/b")
	f.Add([]byte("32 1 0:3 /docker/a /c\\040d rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n"), "/docker/a/b")
	f.Add([]byte("32 1 0:3 /../.. /c rw - cgroup2 x rw\n32 1 0:3 / /c rw - tmpfs x rw\n"), "/../../x")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		mounts := parseMounts(text)
		for _, m := range mounts {
			if m.root == "" || m.root[0] != '/' || m.point == "" || m.point[0] != '/' {
				t.Errorf("parseMounts(%q): %+v", text, m)
			}
		}
		for _, h := range []hierarchy{{path: path}, {path: path, v1: true}} {
			m, rest, ok := choose(mounts, h, "cpu")
			if !ok {
				continue
			}
			if m.v1 != h.v1 || len(rest) > len(path) || path[len(path)-len(rest):] != rest && rest != "" {
				t.Errorf("choose(%q, %q) = %+v, %q", text, path, m, rest)
			}
		}
	})
}

// FuzzRead: whole trees out of hostile files. Whatever they hold, reading does
// not panic, and a figure that is known makes sense.
func FuzzRead(f *testing.F) {
	f.Add("0::/a\n", "31 1 0:2 / /c ro - cgroup2 cgroup2 rw\n", "200000 100000\n", "536870912\n")
	f.Add("1:cpu,memory:/a\n", "31 1 0:2 / /c ro - cgroup x rw,cpu,memory\n", "50000\n", "-1\n")
	f.Fuzz(func(t *testing.T, group, mounts, cpu, memory string) {
		tree := fstest.MapFS{
			"proc/self/cgroup":          {Data: []byte(group)},
			"proc/self/mountinfo":       {Data: []byte(mounts)},
			"c/a/cpu.max":               {Data: []byte(cpu)},
			"c/a/cpu.cfs_quota_us":      {Data: []byte(cpu)},
			"c/a/cpu.cfs_period_us":     {Data: []byte("100000\n")},
			"c/a/memory.max":            {Data: []byte(memory)},
			"c/memory.high":             {Data: []byte(memory)},
			"c/a/memory.stat":           {Data: []byte("anon " + memory + "total_rss " + memory)},
			"c/memory.stat":             {Data: []byte("total_rss 1\nanon " + memory)},
			"c/a/memory.limit_in_bytes": {Data: []byte(memory)},
		}
		h, err := Open(tree, 0, Counters|Detail|Unreclaimable)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		l, err := h.Read()
		if err != nil {
			t.Fatal(err)
		}
		listed := slices.ContainsFunc(l.Unknown, func(g Gap) bool { return g.Field == unreclaimableField })
		if charge := l.Memory.Unreclaimable; charge.N < 0 || charge.State == None || listed != (charge.State == Unknown) {
			t.Errorf("unreclaimable memory %v, listed as unknown: %v", charge, listed)
		}
		if n, ok := l.CPU.Quota.Get(); ok && !(n > 0) {
			t.Errorf("quota %v", n)
		}
		hard, limited := l.Memory.Hard.Get()
		if soft, ok := l.Memory.Soft.Get(); limited && (!ok || soft > hard) {
			t.Errorf("soft %v above hard %v", l.Memory.Soft, l.Memory.Hard)
		}
		if l.CPU.Quota.State == Unknown && len(l.Unknown) == 0 {
			t.Error("an unknown quota is not listed")
		}
	})
}
