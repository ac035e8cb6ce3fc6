// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/snug-go/snug/limits"
)

var errESRCH = error(syscall.ESRCH)

// TestSystemCallsGiveTheSame compares both ways to read this machine: plain system calls and
// fs.FS.
func TestSystemCallsGiveTheSame(t *testing.T) {
	for _, pid := range []int{0, os.Getpid(), 1} {
		a, err := limits.Read(limits.Process{PID: pid})
		if err != nil {
			t.Fatal(err)
		}
		b, err := limits.Read(limits.Process{FS: os.DirFS("/"), PID: pid})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []*limits.Limits{&a, &b} {
			l.CPU.Throttle, l.CPU.Pressure = limits.Throttle{}, limits.Pressure{}
			m := &l.Memory
			m.Current, m.SharedCurrent, m.SwapCurrent, m.Pressure = limits.Value[int64]{}, limits.Value[int64]{}, limits.Value[int64]{}, limits.Pressure{}
			m.Events = limits.MemoryEvents{}
			m.AddressSpace = limits.Value[int64]{} // of system calls only
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("pid %d:\nsystem calls %+v\nfs.FS        %+v", pid, a, b)
		}
	}
	if _, err := limits.Read(limits.Process{PID: 1 << 30}); err == nil {
		t.Error("a pid that cannot be has limits")
	}
}

// TestKeepsFew: of another process, a Handle keeps no file open that is read once or rarely. A node
// has hundreds of them, and each open file costs the kernel memory. A process with a PID is another one.
func TestKeepsFew(t *testing.T) {
	h, err := limits.Open(limits.Process{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Read(limits.Counters | limits.Detail | limits.Unreclaimable); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		switch name, _ := os.Readlink(file); filepath.Base(name) {
		case "cgroup.procs", "mountinfo", "meminfo":
			t.Error(name + " is open")
		}
	}
}

// TestFewDescriptors: two descriptors are enough, besides the three of every program.
func TestFewDescriptors(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := func(files string) string {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "SNUG_TEST_READ="+files, "GODEBUG=containermaxprocs=0,updatemaxprocs=0") // the runtime keeps files of its own open
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if few, many := said("5"), said("100"); few != many {
		t.Errorf("with 5 descriptors %q, with 100 %q", few, many)
	}
}

func TestFollowerReadsTheLimitsOnly(t *testing.T) {
	f, err := limits.Follow()
	if err != nil {
		t.Fatal(err)
	}
	var l limits.Limits
	f.Read(&l)
	all, err := limits.Self()
	if err != nil {
		t.Fatal(err)
	}
	if l.CPU.Quota != all.CPU.Quota || l.CPU.Affinity != all.CPU.Affinity || l.Memory.Hard != all.Memory.Hard {
		t.Errorf("a Follower reads %+v, Self %+v", l, all)
	}
	if l.CPU.Shares.State == limits.Known || l.CPU.Weight.State == limits.Known {
		t.Error("Self reads details")
	}
}

func TestPollAllocatesNothing(t *testing.T) {
	for _, parts := range []limits.Parts{0, limits.Counters, limits.Counters | limits.Unreclaimable} {
		h, err := limits.Open(limits.Process{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		h.Read(parts)
		if n := testing.AllocsPerRun(200, func() { h.Read(parts) }); n != 0 {
			t.Errorf("a poll of parts %d allocates %v times, want 0", parts, n)
		}
	}
}

func TestFilesAreGivenBack(t *testing.T) {
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := count()
	for range 20 {
		if _, err := limits.Self(); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		f, err := limits.Follow()
		if err != nil {
			b.Fatal(err)
		}
		var l limits.Limits
		f.Read(&l)
		f.Close()
	}
}

func BenchmarkPollFollower(b *testing.B) {
	f, err := limits.Follow()
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var l limits.Limits
	b.ReportAllocs()
	for range b.N {
		f.Read(&l)
	}
}

func BenchmarkPoll(b *testing.B)       { benchmarkPoll(b, limits.Counters) }
func BenchmarkPollCharge(b *testing.B) { benchmarkPoll(b, limits.Counters|limits.Unreclaimable) }

func benchmarkPoll(b *testing.B, parts limits.Parts) {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	b.ReportAllocs()
	for range b.N {
		h.Read(parts)
	}
}
