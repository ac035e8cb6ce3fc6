// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"strings"
	"testing"
)

func TestUnreclaimableV1(t *testing.T) {
	for _, c := range []struct {
		name, stat string
		want       Value[int64]
	}{
		{"with groups below", "cache 9\nrss 1\nshmem 2\ntotal_cache 900\ntotal_rss 100\ntotal_rss_huge 50\ntotal_shmem 20\ntotal_unevictable 7\n", Of[int64](120)},
		{"before shmem was told apart", "rss 1\ntotal_rss 100\ntotal_cache 30\n", Of[int64](100)},
		{"nothing yet", "total_rss 0\ntotal_shmem 0\n", Of[int64](0)},
		{"no newline at the end", "total_shmem 20\ntotal_rss 100", Of[int64](120)},
		{"more than there can be", "total_rss 9223372036854775807\ntotal_shmem 9\n", Of[int64](math.MaxInt64)},
		{"the group's own only", "rss 100\nshmem 20\n", Value[int64]{}},
		{"garbage", "total_rss many\ntotal_shmem 20\n", Value[int64]{}},
		{"garbage in the other", "total_rss 100\ntotal_shmem -20\n", Value[int64]{}},
		{"no number", "total_rss\n", Value[int64]{}},
		{"empty", "", Value[int64]{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unreclaimableV1([]byte(c.stat)); got != c.want {
				t.Errorf("= %v, want %v", got, c.want)
			}
		})
	}
}

func TestUnreclaimableV2(t *testing.T) {
	const since518 = "anon 1000\nfile 700\nkernel 90\nkernel_stack 16\npagetables 8\nsec_pagetables 0\npercpu 4\nsock 5\nvmalloc 2\n" +
		"shmem 200\nfile_mapped 50\nfile_dirty 7\nfile_writeback 3\nunevictable 400\nslab_reclaimable 30\nslab_unreclaimable 20\nslab 50\n"
	for _, c := range []struct {
		name, stat string
		want       Value[int64]
	}{
		{"since 5.18", since518, Of[int64](1000 + 200 + 90 - 30 + 5)},
		{"before, the kernel's memory by its parts", strings.Replace(since518, "kernel 90\n", "", 1), Of[int64](1000 + 200 + 16 + 8 + 4 + 20 + 5)},
		{"huge pages are charged", since518 + "hugetlb 4000\n", Of[int64](1000 + 200 + 90 - 30 + 5 + 4000)},
		{"the oldest", "anon 1000\nfile 700\n", Of[int64](1000)},
		{"slab counted later than kernel", "anon 1000\nkernel 10\nslab_reclaimable 30\n", Of[int64](1000)},
		{"more than there can be", "anon 9223372036854775807\nshmem 9\nsock 9223372036854775807\n", Of[int64](math.MaxInt64)},
		{"no anon", "file 700\nkernel 90\nanon_thp 5\n", Value[int64]{}},
		{"garbage", "anon 1000\nkernel lots\n", Value[int64]{}},
		{"empty", "", Value[int64]{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unreclaimableV2([]byte(c.stat)); got != c.want {
				t.Errorf("= %v, want %v", got, c.want)
			}
		})
	}
}
