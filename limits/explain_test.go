// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

// setAll writes files of one directory.
func setAll(t *testing.T, f *fixture.FS, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		set(t, f, dir+name, content)
	}
}

const (
	v2Own = "sys/fs/cgroup/a/b/"
	v1CPU = "sys/fs/cgroup/cpu,cpuacct/job/"
	v1Mem = "sys/fs/cgroup/memory/job/"
	v1Set = "sys/fs/cgroup/cpuset/"
)

// TestDetailV2: the details are the own group's, in their units.
func TestDetailV2(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	setAll(t, f, v2Own, map[string]string{
		"cpu.max": "300000 200000\n", "cpu.max.burst": "50000\n", "cpu.weight": "79\n",
		"cpu.pressure":          "some avg10=12.50 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=70\n",
		"cpuset.cpus.effective": "0-3,8\n",
		"memory.swap.max":       "1048576\n", "memory.swap.current": "4096\n", "memory.current": "700\n",
		"memory.events":   "low 0\nhigh 3\nmax 5\noom 2\noom_kill 1\n",
		"memory.pressure": "some avg10=1.00 avg60=0.00 avg300=0.00 total=10\n",
	})
	setAll(t, f, "sys/fs/cgroup/a/", map[string]string{"memory.current": "900\n", "cpu.stat": "nr_periods 50\nnr_throttled 20\nthrottled_usec 9223372036854775\n"})
	h := open(t, f, 0)
	l := read(t, h)
	if c := l.CPU; c.Weight != limits.Of(79) || c.Shares.State != limits.Unknown || c.Burst != limits.Of(0.25) || c.Cpuset != "0-3,8" || len(c.RequestHints) == 0 ||
		c.Pressure != (limits.Pressure{SomeAvg10: limits.Of(0.125), FullAvg10: limits.Of(0.0025), SomeTotal: 2500 * time.Millisecond, FullTotal: 70 * time.Microsecond}) {
		t.Errorf("CPU: %+v", c)
	}
	// The parent's quota of 2 cores is the wider one now.
	if th := l.CPU.Throttle; l.CPU.QuotaSource.Level != "/a/b" || th.Periods == limits.Of[int64](50) {
		t.Errorf("the own group's quota decides, %+v is counted", th)
	}
	if m := l.Memory; m.SwapMax != limits.Of[int64](1<<20) || m.SwapCurrent != limits.Of[int64](4096) || m.Current != limits.Of[int64](700) || m.SharedCurrent != limits.Of[int64](900) ||
		m.Events != (limits.MemoryEvents{High: limits.Of[int64](3), Max: limits.Of[int64](5), OOM: limits.Of[int64](2), OOMKills: limits.Of[int64](1)}) ||
		m.Pressure.SomeAvg10 != limits.Of(0.01) || m.Pressure.FullAvg10.State != limits.Unknown {
		t.Errorf("memory: %+v", m)
	}
	// The longest duration, and one that does not fit.
	setAll(t, f, v2Own, map[string]string{"cpu.max": "max 100000\n"})
	if th := read(t, h).CPU.Throttle; th.Periods != limits.Of[int64](50) || th.Throttled != limits.Of[int64](20) || th.Time != 9223372036854775*time.Microsecond {
		t.Errorf("the parent's quota decides, %+v is counted", th)
	}
	setAll(t, f, "sys/fs/cgroup/a/", map[string]string{"cpu.stat": "throttled_usec 9223372036854776\n"})
	if th := read(t, h).CPU.Throttle; th.Time != math.MaxInt64 {
		t.Errorf("a time that does not fit: %+v", th)
	}
}

// TestDetailEdges: the kernel's smallest and largest weights are valid; values it never writes
// are unknown.
func TestDetailEdges(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	h := open(t, f, 0)
	for text, want := range map[string]limits.Value[int]{"1": limits.Of(1), "10000": limits.Of(10000), "0": {}, "10001": {}, "x": {}, "": {}} {
		setAll(t, f, v2Own, map[string]string{"cpu.weight": text + "\n", "cpuset.cpus.effective": "\n", "cpu.max": "100000 " + text + "\n"})
		if c := read(t, h).CPU; c.Weight != want || c.Cpuset != "" {
			t.Errorf("weight %q: %v, CPUs %q", text, c.Weight, c.Cpuset)
		}
	}
	// Without a valid period a burst cannot be converted to cores.
	setAll(t, f, v2Own, map[string]string{"cpu.max": "100000 0\n", "cpu.max.burst": "50000\n"})
	if c := read(t, h).CPU; c.Burst.State != limits.Unknown {
		t.Errorf("burst %v of no period", c.Burst)
	}
	setAll(t, f, v2Own, map[string]string{"cpu.max": "100000 100000\n", "cpu.max.burst": "x\n"})
	if c := read(t, h).CPU; c.Burst.State != limits.Unknown {
		t.Errorf("burst %v of no number", c.Burst)
	}
}

// TestDetailV1: memory.memsw counts memory and swap together, and shares are CPUs times 1024.
func TestDetailV1(t *testing.T) {
	f := load(t, "v1-parent-tighter")
	setAll(t, f, v1CPU, map[string]string{"cpu.shares": "512\n", "cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n", "cpu.cfs_burst_us": "25000\n"})
	setAll(t, f, v1Mem, map[string]string{
		"memory.limit_in_bytes": "1000000\n", "memory.memsw.limit_in_bytes": "1500000\n", "memory.usage_in_bytes": "800\n",
		"memory.failcnt": "4\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n",
		"memory.stat": "cache 1\nswap 77\nhierarchical_memory_limit 1000000\n",
	})
	setAll(t, f, v1Set, map[string]string{"job/cgroup.procs": "1\n", "job/cpuset.effective_cpus": "\n", "job/cpuset.cpus": "2-3\n"})
	h := open(t, f, 0)
	l := read(t, h)
	if c := l.CPU; c.Shares != limits.Of(512) || !slices.Equal(c.RequestHints, []float64{0.5}) || c.Weight.State != limits.Unknown || c.Burst != limits.Of(0.25) || c.Cpuset != "2-3" {
		t.Errorf("CPU: %+v", c)
	}
	if m := l.Memory; m.SwapMax != limits.Of[int64](500000) || m.SwapCurrent != limits.Of[int64](77) || m.Current != limits.Of[int64](800) ||
		m.Events != (limits.MemoryEvents{Max: limits.Of[int64](4), OOMKills: limits.Of[int64](6)}) {
		t.Errorf("memory: %+v", m)
	}
	// The same when the root is visible, and memory.stat is not needed for the limit.
	setAll(t, f, "sys/fs/cgroup/memory/", map[string]string{"release_agent": "\n"})
	if m := read(t, open(t, f, 0)).Memory; m.SwapCurrent != limits.Of[int64](77) {
		t.Errorf("swap in use %+v", m.SwapCurrent)
	}
	// Without a limit on both, swap has none, whatever the memory limit is.
	setAll(t, f, v1Mem, map[string]string{"memory.memsw.limit_in_bytes": "9223372036854771712\n"})
	if m := read(t, h).Memory; m.SwapMax != limits.NoLimit[int64]() {
		t.Errorf("swap %+v", m.SwapMax)
	}
	setAll(t, f, v1CPU, map[string]string{"cpu.shares": "2\n"})
	setAll(t, f, v1Set, map[string]string{"job/cpuset.effective_cpus": "1\n"})
	if c := read(t, h).CPU; c.Shares != limits.Of(2) || c.RequestHints != nil || c.Cpuset != "1" {
		t.Errorf("CPU: %+v", c)
	}
}

// TestDetailFindsCpusetOnce: the mount table, the longest of the files, is read again only after the
// process has moved or the group was removed.
func TestDetailFindsCpusetOnce(t *testing.T) {
	files := load(t, "v2-simple")
	f := &reads{FS: files}
	set(t, files, "proc/42/cgroup", "0::/\n")
	set(t, files, "proc/42/status", "Cpus_allowed:\tf\n")
	setAll(t, files, "sys/fs/cgroup/", map[string]string{
		"cpuset.cpus.effective": "0-1\n", "sub/cgroup.procs": "42\n", "sub/cpuset.cpus.effective": "1\n",
	})
	tables := func() (n int) {
		for name, opened := range f.opened {
			if strings.HasSuffix(name, "/mountinfo") {
				n += opened + f.read[name]
			}
		}
		return n
	}
	h := open(t, f, 42)
	if c := read(t, h).CPU; c.Cpuset != "0-1" {
		t.Errorf("cpuset %q", c.Cpuset)
	}
	before := tables()
	set(t, files, "sys/fs/cgroup/cpuset.cpus.effective", "0\n")
	if c := read(t, h).CPU; c.Cpuset != "0" {
		t.Errorf("cpuset %q after a change", c.Cpuset)
	}
	if n := tables() - before; n != 0 {
		t.Errorf("mount tables were opened and read %d times more", n)
	}
	set(t, files, "proc/42/cgroup", "0::/sub\n")
	if c := read(t, h).CPU; c.Cpuset != "1" {
		t.Errorf("cpuset %q after a move", c.Cpuset)
	}
}
