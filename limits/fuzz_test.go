// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"slices"
	"testing"
	"testing/fstest"
)

// FuzzCharge: memory.stat of both versions.
func FuzzCharge(f *testing.F) {
	f.Add([]byte("anon 7\nshmem 5\nkernel 3\nslab_reclaimable 4\n"))
	f.Add([]byte("total_rss 7\ntotal_shmem 9223372036854775807\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for key, charge := range map[string]Value[int64]{"total_rss": unreclaimableV1(b), "anon": unreclaimableV2(b)} {
			if n, ok := charge.Get(); ok && (n < 0 || !bytes.Contains(b, []byte(key))) || charge.State == None {
				t.Errorf("unreclaimable memory of %q = %v", b, charge)
			}
		}
	})
}

// FuzzRead reads trees of hostile files. Reading must not panic, and every known figure must
// be plausible.
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
			"c/cgroup.procs":            {},
			"c/a/cgroup.procs":          {},
		}
		h, err := Open(Process{FS: tree})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		l, err := h.Read(Counters | Detail | Unreclaimable)
		if err != nil {
			t.Fatal(err)
		}
		listed := slices.ContainsFunc(l.Gaps, func(g Gap) bool { return g.Field == unreclaimableField })
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
		if l.CPU.Quota.State == Unknown && len(l.Gaps) == 0 {
			t.Error("an unknown quota is not listed")
		}
	})
}
