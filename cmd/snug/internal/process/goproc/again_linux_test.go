// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/limits"
)

// TestAgain checks that Again sees new settings and keeps what stays the same.
func TestAgain(t *testing.T) {
	target := startTarget(t, exec.Command(buildTarget(t, how{goLine: "1.26", flags: []string{"-ldflags=-s -w"}})), "GOGC=66", "GODEBUG=x=1")
	p, err := proc.Open(target.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	files := NewCache("")
	first := Look(p, files)
	if first.Err != nil || first.GOGC.N != 66 {
		t.Fatalf("%+v", first)
	}
	for _, word := range []string{"procs", "percent", "limit", "gc"} {
		target.ask(word)
	}
	want := target.ask("truth")
	again := first.Again(p)
	if again.IdlePs.Known() || again.SpinningPs.Known() {
		t.Errorf("Ps are asked for: %+v", again)
	}
	whole, now := *again, Look(p, files)
	whole.IdlePs, whole.SpinningPs = now.IdlePs, now.SpinningPs
	agree(t, &whole, want)
	p.KeepStat()
	if kept, err := p.Stat(); err != nil || !kept.Same(&again.Stat) || kept.CPU < again.Stat.CPU {
		t.Errorf("from a file that is kept open: %+v, %v", kept, err)
	}
	switch {
	case again.GOMAXPROCS.N != 7 || again.GOMAXPROCSBy.By != ByCode || again.GOGC.N != 77 || again.GOGCBy.By != ByCode:
		t.Errorf("%+v", again)
	case again.Collections.N <= first.Collections.N, again.Path != first.Path, again.Env["GODEBUG"] != "x=1", again.CPUs != first.CPUs, again.Exe.GoVersion != first.Exe.GoVersion:
		t.Errorf("%+v", again)
	}
	if first.GOGC.N != 66 {
		t.Error("the look before was changed")
	}
	if first.CPUs > 1 {
		var one unix.CPUSet
		if err := unix.SchedGetaffinity(p.Pid(), &one); err != nil {
			t.Fatal(err)
		}
		for cpu := 0; one.Count() > 1; cpu++ {
			one.Clear(cpu)
		}
		if err := unix.SchedSetaffinity(p.Pid(), &one); err != nil {
			t.Fatal(err)
		}
		if f := first.Again(p); f.CPUs != first.CPUs {
			t.Errorf("with its main thread pinned it may run on %d CPUs, want %d", f.CPUs, first.CPUs)
		}
		// If the other threads cannot be listed, that number holds, and it is not 1 from then on.
		other, err := proc.OpenWithin(p.Pid(), proc.NewBudget(t.Context(), proc.Amount{Time: time.Hour}, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if n, err := other.Affinity(0); !errors.Is(err, proc.ErrTooMuch) {
			t.Errorf("without its other threads: %d, %v", n, err)
		}
		if f := first.Again(other); f.CPUs != first.CPUs {
			t.Errorf("without its other threads it may run on %d CPUs, want %d", f.CPUs, first.CPUs)
		}
		other.Allow(p.Budget())
		n, err := other.Affinity(0)
		if l, wrong := limits.Read(limits.Process{PID: p.Pid()}); wrong != nil || err != nil || n != first.CPUs || l.CPU.Affinity != limits.Of(n) {
			t.Errorf("after that: %d, %v; package limits: %+v, %v", n, err, l.CPU.Affinity, wrong)
		}
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(p.Pid()) + "/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			tid, _ := strconv.Atoi(task.Name())
			if err := unix.SchedSetaffinity(tid, &one); err != nil {
				t.Fatal(err)
			}
		}
		if f := first.Again(p); f.CPUs != 1 {
			t.Errorf("with all threads pinned it may run on %d CPUs, want 1", f.CPUs)
		}
	}
	id, err := p.ExeID()
	if is, known := files.IsGo(id); err != nil || !is || !known || files.Len() != 1 {
		t.Errorf("%t, %t, %v", is, known, err)
	}
	if byNumber, err := proc.ExeOf(p.Pid()); err != nil || byNumber != id {
		t.Errorf("%+v, %v", byNumber, err)
	}
	if s, err := proc.StatOf(p.Pid()); err != nil || !s.Same(&first.Stat) || s.Zombie() {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAgainGone checks that a process that ends or execs is gone, even if it runs the same program.
func TestAgainGone(t *testing.T) {
	file := buildTarget(t, how{goLine: "1.26"})
	for _, c := range []struct {
		name   string
		look   func(*proc.Process, *Cache) *Facts
		change func(*child)
	}{
		{"ended", Look, (*child).end},
		{"itself once more", Look, func(c *child) { c.in.Write([]byte("exec " + file + "\n")); c.answer() }},
		{"ended, from outside", LookOutside, (*child).end},
		{"itself once more, from outside", LookOutside, func(c *child) { c.in.Write([]byte("exec " + file + "\n")); c.answer() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := startTarget(t, exec.Command(file))
			p, err := proc.Open(target.cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			first := c.look(p, NewCache(""))
			if first.Err != nil || first.Again(p).Err != nil {
				t.Fatalf("%+v", first)
			}
			p.KeepStat()
			c.change(target)
			if f := first.Again(p); !errors.Is(f.Err, proc.ErrGone) || f.GOMAXPROCS.Known() || f.Exe.IsGo {
				t.Errorf("%+v", f)
			}
			target.end()
			if _, err := proc.StatOf(p.Pid()); !errors.Is(err, proc.ErrGone) {
				t.Error(err)
			}
			if _, err := proc.ExeOf(p.Pid()); err != proc.ErrNone {
				t.Error(err)
			}
		})
	}
}

// TestLookOutside checks that the settings come from the environment and nothing from memory.
func TestLookOutside(t *testing.T) {
	target := startTarget(t, exec.Command(buildTarget(t, how{goLine: "1.26"})), "GOMAXPROCS=5", "GOMEMLIMIT=1GiB")
	target.ask("procs")
	p, err := proc.Open(target.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f := LookOutside(p, NewCache(""))
	for _, f := range []*Facts{f, f.Again(p)} {
		if f.Err != nil || f.GOMAXPROCS.N != 5 || f.GOMAXPROCSBy.By != ByEnvironment || f.GOMEMLIMIT.N != 1<<30 ||
			f.GOGC.Known() || f.GOGC.Why != "memory is not read" || f.Collections.Known() || f.Stat.RSSBytes == 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestStatOfKernel checks that kernel threads have no executable.
func TestStatOfKernel(t *testing.T) {
	const kthreadd = 2
	if name, err := os.ReadFile("/proc/2/comm"); err != nil || string(name) != "kthreadd\n" {
		t.Skip("no threads of the kernel are seen from here")
	}
	if s, err := proc.StatOf(kthreadd); err != nil || !s.Kernel {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := proc.ExeOf(kthreadd); err != proc.ErrNone && err != proc.ErrDenied {
		t.Error(err)
	}
}

// TestRests checks that the figures of an idle process hold, and those of an active or ended one
// do not.
func TestRests(t *testing.T) {
	target := startTarget(t, exec.Command(buildTarget(t, how{goLine: "1.26"})), "GOGC=66")
	p, err := proc.Open(target.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	files := NewCache("")
	first := Look(p, files)
	for end := time.Now().Add(time.Minute); !first.Rests(p); first = Look(p, files) {
		if time.Now().After(end) {
			t.Fatalf("it does not rest: %+v", first)
		}
	}
	target.ask("burn")
	for end := time.Now().Add(time.Minute); first.Rests(p); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it works, and rests")
		}
	}
	target.end()
	if first.Rests(p) {
		t.Error("it has ended, and rests")
	}
}
