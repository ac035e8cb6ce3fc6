// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

// load returns a saved situation for the test to change.
func load(t *testing.T, name string) *fixture.FS {
	t.Helper()
	s, err := fixture.Load(os.DirFS("../testdata/situations"), name+".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return s.FS
}

func open(t *testing.T, fsys fs.FS, pid int) *handle {
	t.Helper()
	return openParts(t, limits.Process{FS: fsys, PID: pid}, limits.Counters|limits.Detail)
}

// A handle reads the same parts at every poll.
type handle struct {
	*limits.Handle
	parts limits.Parts
}

func openParts(t *testing.T, p limits.Process, parts limits.Parts) *handle {
	t.Helper()
	h, err := limits.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return &handle{h, parts}
}

func (h *handle) Read() (limits.Limits, error) { return h.Handle.Read(h.parts) }

func read(t *testing.T, h *handle) limits.Limits {
	t.Helper()
	l, err := h.Read()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func set(t *testing.T, f *fixture.FS, name, content string) {
	t.Helper()
	if err := f.Set(name, content); err != nil {
		t.Fatal(err)
	}
}

func TestFollowsChanges(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	h := open(t, f, 0)
	first := read(t, h)
	if first.CPU.Quota != limits.Of(2.0) {
		t.Fatalf("quota = %v, want 2", first.CPU.Quota)
	}
	set(t, f, "sys/fs/cgroup/a/cpu.max", "300000 100000\n")
	set(t, f, "sys/fs/cgroup/a/b/memory.max", "134217728\n")
	set(t, f, "proc/self/status", "Cpus_allowed:\t3\n")
	now := read(t, h)
	if now.CPU.Quota != limits.Of(3.0) || now.CPU.Cores != limits.Of(2.0) || now.CPU.Affinity != limits.Of(2) {
		t.Errorf("quota %v, cores %v, affinity %v, want 3, 2, 2", now.CPU.Quota, now.CPU.Cores, now.CPU.Affinity)
	}
	if now.Memory.Hard != limits.Of[int64](134217728) || now.Memory.HardShared {
		t.Errorf("hard %v, shared %v, want 128 MiB of its own", now.Memory.Hard, now.Memory.HardShared)
	}
	if first.CPU.Levels[1].Quota != limits.Of(2.0) {
		t.Error("Limits that were handed out changed")
	}
}

func TestFollowsCounters(t *testing.T) {
	f := load(t, "v2-simple")
	h := open(t, f, 0)
	read(t, h)
	set(t, f, "sys/fs/cgroup/cpu.stat", "nr_periods 50\nnr_throttled 20\nthrottled_usec 2500000\n")
	set(t, f, "sys/fs/cgroup/memory.current", "99\n")
	l := read(t, h)
	if got := l.CPU.Throttle; got.Periods != limits.Of[int64](50) || got.Throttled != limits.Of[int64](20) || got.Time.Seconds() != 2.5 {
		t.Errorf("throttle = %+v, want 20 of 50, 2.5 s", got)
	}
	if l.Memory.Current != limits.Of[int64](99) {
		t.Errorf("current = %v, want 99", l.Memory.Current)
	}
}

// TestKept: limits are kept while counters are read, and read anew without Kept and when the group is
// another.
func TestKept(t *testing.T) {
	const parts = limits.Counters | limits.Unreclaimable
	f := load(t, "v2-simple")
	h := openParts(t, limits.Process{FS: f}, parts)
	before := read(t, h)
	set(t, f, "sys/fs/cgroup/cpu.max", "300000 100000\n")
	set(t, f, "sys/fs/cgroup/memory.current", "99\n")
	h.parts = parts | limits.Kept
	if l := read(t, h); l.CPU.Quota != before.CPU.Quota || l.Memory.Current != limits.Of[int64](99) {
		t.Errorf("quota %v, want %v; current %v, want 99", l.CPU.Quota, before.CPU.Quota, l.Memory.Current)
	}
	for _, with := range []limits.Parts{0, limits.Weight, limits.Weight | limits.Kept} {
		h.parts = parts | with
		if l := read(t, h); l.CPU.Quota != limits.Of(3.0) {
			t.Errorf("parts %b: quota %v, want 3", h.parts, l.CPU.Quota)
		}
	}
	first := openParts(t, limits.Process{FS: f}, parts|limits.Kept)
	if l := read(t, first); l.CPU.Quota != limits.Of(3.0) || l.Memory.Current != limits.Of[int64](99) {
		t.Errorf("at first: quota %v, current %v, want 3 and 99", l.CPU.Quota, l.Memory.Current)
	}
}

// TestWeight: Weight is the part of Detail that it says.
func TestWeight(t *testing.T) {
	for _, name := range []string{"k8s-v2-burstable", "ecs-v1-task-limit", "v2-burst", "v1-swap-limit"} {
		f := load(t, name)
		all := read(t, openParts(t, limits.Process{FS: f}, limits.Detail))
		got := read(t, openParts(t, limits.Process{FS: f}, limits.Weight))
		want := all.Memory.Events
		if got.Memory.Events.Max.State == limits.Unknown {
			want.Max = limits.Value[int64]{}
		}
		c, d := got.CPU, all.CPU
		if c.Weight != d.Weight || c.Shares != d.Shares || len(c.RequestHints) != len(d.RequestHints) || got.Memory.Events != want || got.Memory.Host != all.Memory.Host {
			t.Errorf("%s: %+v, want %+v", name, got, all)
		}
		if c.Cpuset != "" || c.Burst.State != limits.Unknown || got.Memory.SwapMax.State != limits.Unknown || got.Memory.SwapCurrent.State != limits.Unknown {
			t.Errorf("%s: more was read: %+v", name, got)
		}
	}
}

// TestPlaced: of a process that its caller follows, a move is not noticed.
func TestPlaced(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	set(t, f, "proc/42/cgroup", "0::/a/b\n")
	set(t, f, "proc/42/status", "Cpus_allowed:\t3\n")
	h := openParts(t, limits.Process{FS: f, PID: 42}, limits.Placed)
	before := read(t, h)
	set(t, f, "sys/fs/cgroup/c/cpu.max", "50000 100000\n")
	set(t, f, "sys/fs/cgroup/c/cgroup.procs", "42\n")
	set(t, f, "proc/42/cgroup", "0::/c\n")
	if l := read(t, h); l.CPU.Quota != before.CPU.Quota || l.CPU.Quota.State != limits.Known {
		t.Errorf("quota = %v, want %v", l.CPU.Quota, before.CPU.Quota)
	}
	h.parts = 0
	if l := read(t, h); l.CPU.Quota != limits.Of(0.5) {
		t.Errorf("without Placed, quota = %v, want 0.5", l.CPU.Quota)
	}
}

func TestNoticesAMove(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	h := open(t, f, 0)
	read(t, h)
	set(t, f, "sys/fs/cgroup/c/cpu.max", "50000 100000\n")
	set(t, f, "sys/fs/cgroup/c/cgroup.procs", "1\n")
	set(t, f, "proc/self/cgroup", "0::/c\n")
	var l limits.Limits
	for range 4 {
		l = read(t, h)
	}
	if l.CPU.Quota != limits.Of(0.5) || l.CPU.QuotaSource.Level != "/c" {
		t.Errorf("four polls after the move quota = %v at %q, want 0.5 at /c", l.CPU.Quota, l.CPU.QuotaSource.Level)
	}
}

func TestNoticesARemovedGroup(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	h := open(t, f, 0)
	read(t, h)
	if err := f.Remove("sys/fs/cgroup/a/b"); err != nil {
		t.Fatal(err)
	}
	l := read(t, h)
	if l.CPU.Quota != limits.Of(2.0) {
		t.Errorf("quota = %v, want the parent's 2", l.CPU.Quota)
	}
	if len(l.Gaps) == 0 || len(l.Warnings) == 0 || l.Warnings[0].Code != limits.WarnCgroupDeleted {
		t.Errorf("unknown %v, warnings %v, want the group's own files listed", l.Gaps, l.Warnings)
	}
}

func TestNoticesANewController(t *testing.T) {
	f := load(t, "v2-simple")
	for _, name := range []string{"cpu.max", "memory.max"} {
		if err := f.Remove("sys/fs/cgroup/" + name); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t, f, 0)
	if l := read(t, h); l.CPU.Quota.State != limits.None || l.Memory.Hard.State != limits.None {
		t.Fatalf("without the files quota = %v, hard = %v, want none", l.CPU.Quota, l.Memory.Hard)
	}
	set(t, f, "sys/fs/cgroup/cpu.max", "100000 100000\n")
	for range 40 {
		if read(t, h).CPU.Quota == limits.Of(1.0) {
			return
		}
	}
	t.Error("a cpu.max that appeared was not seen in 40 polls")
}

func TestOtherProcesses(t *testing.T) {
	f := load(t, "v2-simple")
	set(t, f, "proc/42/cgroup", "0::/\n")
	set(t, f, "proc/42/status", "Cpus_allowed:\tf\n")
	h := open(t, f, 42)
	if l := read(t, h); l.CPU.Quota != limits.Of(2.0) || l.CPU.Affinity != limits.Of(4) {
		t.Errorf("quota %v, affinity %v, want 2 and 4", l.CPU.Quota, l.CPU.Affinity)
	}
	for _, pid := range []int{7, -1} {
		if _, err := limits.Read(limits.Process{FS: f, PID: pid}); !errors.Is(err, limits.ErrNoProcess) {
			t.Errorf("pid %d: error %v, want ErrNoProcess", pid, err)
		}
	}
	if err := f.Fail("proc/42/cgroup", errESRCH); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Read(); runtime.GOOS == "linux" && !errors.Is(err, limits.ErrNoProcess) {
		t.Errorf("after it ended: error %v, want ErrNoProcess", err)
	}
}

// The tree's mount table does not belong to the process: its own group is not where it seems
// to be.
func TestGroupOfAnotherProcess(t *testing.T) {
	f := load(t, "v2-simple")
	set(t, f, "proc/42/cgroup", "0::/\n")
	set(t, f, "proc/42/status", "Cpus_allowed:\tf\n")
	for procs, want := range map[string]limits.Value[float64]{
		"7\n8\n":  {},
		"7\n42\n": limits.Of(2.0),
		"0\n7\n":  limits.Of(2.0), // another PID namespace
		"":        limits.Of(2.0),
	} {
		set(t, f, "sys/fs/cgroup/cgroup.procs", procs)
		l := read(t, open(t, f, 42))
		if l.CPU.Quota != want {
			t.Errorf("with %q in cgroup.procs quota = %v, want %v", procs, l.CPU.Quota, want)
		}
		if want.State == limits.Unknown && (len(l.Gaps) == 0 || len(l.Warnings) == 0) {
			t.Errorf("with %q in cgroup.procs unknown %v, warnings %v", procs, l.Gaps, l.Warnings)
		}
	}
}

// The process ended between Open and Read.
func TestEndedBeforeTheFirstRead(t *testing.T) {
	f := load(t, "v2-simple")
	set(t, f, "proc/42/cgroup", "0::/\n")
	h := open(t, f, 42)
	if err := f.Remove("proc/42"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Read(); !errors.Is(err, limits.ErrNoProcess) {
		t.Errorf("error %v, want ErrNoProcess", err)
	}
}

// hierarchical_memory_limit may be the tightest: if it is unreadable, that is a gap.
func TestUnreadableMemoryStat(t *testing.T) {
	f := load(t, "v1-hierarchical-limit-tighter")
	l := read(t, open(t, f, 0))
	name := l.Memory.HardSource.File[1:]
	if err := f.Deny(name); err != nil {
		t.Fatal(err)
	}
	for _, g := range read(t, open(t, f, 0)).Gaps {
		if g.Field == "memory.hard_bytes" && g.File == "/"+name {
			return
		}
	}
	t.Errorf("%s cannot be read, and memory.hard_bytes is not listed", name)
}

// Nor does it mean no limit if the group itself has none.
func TestUnreadableMemoryStatAlone(t *testing.T) {
	f := load(t, "v1-docker-unlimited")
	if l := read(t, open(t, f, 0)); l.Memory.Hard.State != limits.None {
		t.Fatalf("hard = %v, want none", l.Memory.Hard)
	}
	if err := f.Deny("sys/fs/cgroup/memory/memory.stat"); err != nil {
		t.Fatal(err)
	}
	if l := read(t, open(t, f, 0)); l.Memory.Hard.State != limits.Unknown || l.Memory.Soft.State != limits.Unknown {
		t.Errorf("hard = %v, soft = %v, want unknown", l.Memory.Hard, l.Memory.Soft)
	}
}

// hideReaderAt is a file system whose files can only be read from the start.
type hideReaderAt struct{ fs.FS }

func (h hideReaderAt) Open(name string) (fs.File, error) {
	f, err := h.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct{ fs.File }{f}, nil
}

func TestPlainFileSystems(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	h := open(t, hideReaderAt{f}, 0)
	if l := read(t, h); l.CPU.Quota != limits.Of(2.0) {
		t.Errorf("quota = %v, want 2", l.CPU.Quota)
	}
	set(t, f, "sys/fs/cgroup/a/cpu.max", "300000 100000\n")
	if l := read(t, h); l.CPU.Quota != limits.Of(3.0) {
		t.Errorf("quota = %v, want 3", l.CPU.Quota)
	}
}

func TestUnreadableLevelKeepsTheOthers(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	if err := f.Deny("sys/fs/cgroup/a/b/cpu.max"); err != nil {
		t.Fatal(err)
	}
	l := read(t, open(t, f, 0))
	if l.CPU.Quota != limits.Of(2.0) {
		t.Errorf("quota = %v, want the parent's 2", l.CPU.Quota)
	}
	want := limits.Gap{Field: "cpu.quota_cores", File: "/sys/fs/cgroup/a/b/cpu.max", Why: "permission denied"}
	if len(l.Gaps) != 1 || l.Gaps[0] != want {
		t.Errorf("unknown = %v, want %v", l.Gaps, want)
	}
}

// TestWant: a part is read from the poll that asks for it, and not before.
func TestWant(t *testing.T) {
	f := load(t, "v2-simple")
	set(t, f, "sys/fs/cgroup/cpu.weight", "39\n")
	set(t, f, "sys/fs/cgroup/memory.stat", "anon 100\n")
	h := openParts(t, limits.Process{FS: f}, limits.Counters)
	if l := read(t, h); l.CPU.Weight.State != limits.Unknown || l.Memory.Unreclaimable.State != limits.Unknown {
		t.Errorf("not wanted yet: %v, %v", l.CPU.Weight, l.Memory.Unreclaimable)
	}
	h.parts = limits.Counters | limits.Detail | limits.Unreclaimable
	if l := read(t, h); l.CPU.Weight != limits.Of(39) || l.Memory.Unreclaimable != limits.Of[int64](100) {
		t.Errorf("wanted: %v, %v", l.CPU.Weight, l.Memory.Unreclaimable)
	}
	h.parts = limits.Counters | limits.Unreclaimable
	set(t, f, "sys/fs/cgroup/memory.stat", "anon 200\n")
	set(t, f, "sys/fs/cgroup/cpu.max", "300000 100000\n")
	if l := read(t, h); l.Memory.Unreclaimable != limits.Of[int64](200) || l.CPU.Quota != limits.Of(3.0) {
		t.Errorf("without details: %v, %v", l.Memory.Unreclaimable, l.CPU.Quota)
	}
	h.parts = limits.Detail
	set(t, f, "sys/fs/cgroup/cpu.weight", "40\n")
	if l := read(t, h); l.CPU.Weight != limits.Of(40) {
		t.Errorf("details again: %v", l.CPU.Weight)
	}
}

// TestRaw: a level's text is its files' text, with the period on v1.
func TestRaw(t *testing.T) {
	f := load(t, "v1-parent-tighter")
	h := open(t, f, 0)
	const dir = "sys/fs/cgroup/cpu,cpuacct/job/"
	for _, test := range []struct{ quota, period, raw string }{{"150000\n", "100000\n", "150000 100000"}, {"150000\n", "", "150000"}} {
		set(t, f, dir+"cpu.cfs_quota_us", test.quota)
		set(t, f, dir+"cpu.cfs_period_us", test.period)
		if got := read(t, h).CPU.Levels[0].Raw; got != test.raw {
			t.Errorf("quota %q, period %q: %q, want %q", test.quota, test.period, got, test.raw)
		}
	}
}

// TestHostIsNotShared: a machine smaller than the limits sets the limit itself. It is not a
// cgroup shared with others.
func TestHostIsNotShared(t *testing.T) {
	f := load(t, "v2-parent-tighter")
	set(t, f, "sys/fs/cgroup/a/memory.high", "900000000\n")
	h := open(t, f, 0)
	if m := read(t, h).Memory; !m.HardShared || !m.SoftShared {
		t.Errorf("the parent's limits: %+v", m)
	}
	set(t, f, "proc/meminfo", "MemTotal: 500000 kB\n")
	h = open(t, f, 0)
	if m := read(t, h).Memory; m.HardShared || m.SoftShared || m.HardSource.File != cgroup.HostMemory || m.SoftSource.File != cgroup.HostMemory || m.Soft != limits.Of[int64](512000000) || m.HardSource.Raw != "MemTotal: 500000 kB" {
		t.Errorf("the machine's memory: %+v", m)
	}
}

func TestNotOpened(t *testing.T) {
	var h limits.Handle
	if l, err := h.Read(limits.Counters); !errors.Is(err, fs.ErrInvalid) || l.CPU.Quota.State != limits.Unknown {
		t.Errorf("%+v, %v; want fs.ErrInvalid", l, err)
	}
	h.Close()
	(*limits.Handle)(nil).Close()
	var l limits.Limits
	if (&limits.Follower{}).Read(&l) {
		t.Error("a Follower that follows nothing says that something changed")
	}
	for _, f := range []*limits.Follower{nil, {}} {
		if n := f.Anonymous(0); n < 1<<62 && runtime.GOOS == "linux" {
			t.Errorf("a Follower that follows nothing says that %d bytes are in use, want unknown", n)
		}
		f.Few()
		f.Close()
	}
}
