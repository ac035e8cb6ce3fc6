// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// children returns the processes whose parent is pid, zombies included.
func children(pid int) []int {
	var list []int
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		b, _ := os.ReadFile(name)
		f := strings.Fields(string(b[max(0, strings.LastIndexByte(string(b), ')')):]))
		if len(f) > 2 && f[2] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			list = append(list, child)
		}
	}
	return list
}

// watchdogOf returns the pid of a snug's watchdog, 0 for none.
func watchdogOf(snug int) int {
	for _, pid := range children(snug) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if strings.Contains(string(b), watchArg) {
			return pid
		}
	}
	return 0
}

func alive(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.state != 'Z'
}

// pidsIn reads the numbers in a file.
func pidsIn(t *testing.T, file string) []int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for word := range strings.FieldsSeq(string(b)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

func TestKilledSnugTakesItsCommandWithIt(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct {
		name, flags string
		escapes     bool // the daemon
	}{
		{"limited", "-cpus 0.5 -memory 67108864 -counters", false},
		{"within its own limits", "-own", true},
		{"without a limit", "-no-limit", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			family, ready := filepath.Join(dir, "family"), filepath.Join(dir, "ready")
			cmd := snug(tt.flags+" -ready "+ready, "as-family", family)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the family is there", func() bool { return len(lines(family)) == 1 })
			pids := pidsIn(t, family)
			watchdog := watchdogOf(cmd.Process.Pid)
			if watchdog == 0 {
				t.Fatal("there is no watchdog")
			}
			if sid, err := unix.Getsid(watchdog); err != nil || sid != watchdog {
				t.Errorf("session of the watchdog is %d, %v; want its own, %d", sid, err, watchdog)
			}
			c := readJSON[Confinement](t, ready)
			if b, _ := os.ReadFile("/proc/" + strconv.Itoa(watchdog) + "/cgroup"); tt.flags[1] == 'c' && strings.Contains(string(b), c.CPUGroup) {
				t.Error("the watchdog is in the confined group")
			}
			for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
				unix.Kill(watchdog, sig)
			}
			settle()
			if !alive(watchdog) || !alive(pids[0]) {
				t.Fatal("a signal ended the watchdog, or the command")
			}
			cmd.Process.Kill()
			cmd.Wait()
			if tt.escapes {
				until(t, "the daemon's sibling ends", func() bool { return !alive(pids[1]) })
				unix.Kill(pids[2], unix.SIGKILL)
			}
			until(t, "everything is gone", func() bool {
				for _, pid := range append(pids, watchdog) {
					if alive(pid) {
						return false
					}
				}
				return true
			})
			if tt.escapes {
				return
			}
			name := filepath.Base(c.CPUGroup)
			if left := groupsNamed(name); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestKilledSnugLeavesNothingBeforeTheCommandRuns(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	ran, ready := filepath.Join(dir, "ran"), filepath.Join(dir, "ready")
	cmd := snug("-cpus 0.5 -memory 67108864 -hold "+filepath.Join(dir, "never")+" -ready "+ready, "as-counter", ran)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the shim is confined", func() bool { return exists(ready) })
	watchdog, c := watchdogOf(cmd.Process.Pid), readJSON[Confinement](t, ready)
	cmd.Process.Kill()
	cmd.Wait()
	until(t, "shim and watchdog are gone", func() bool { return !alive(c.PID) && !alive(watchdog) })
	if left := groupsNamed(filepath.Base(c.CPUGroup)); len(left) != 0 || exists(ran) {
		t.Errorf("left: %q, or the command ran", left)
	}
}

// Snug is killed at any moment: before the watchdog starts, with a half-made group,
// while the shim starts, while the command runs.
func TestKilledSnugLeavesNothingAtAnyTime(t *testing.T) {
	needRoot(t)
	before, marker := strays(), "marker-"+newName()
	for i := range 30 {
		cmd := snug("-cpus 0.5 -memory 67108864 -counters", "as-sleeper", marker)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 2 * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	until(t, "no process is left", func() bool {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range names {
			if b, _ := os.ReadFile(name); strings.Contains(string(b), marker) {
				return false
			}
		}
		return true
	})
	nothingNew(t, before)
}

func TestWatchdogEndsWithSnug(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	ready, goes := filepath.Join(dir, "ready"), filepath.Join(dir, "goes")
	cmd := snug("-cpus 0.5 -hold "+goes+" -ready "+ready, "as-exit", "7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the shim is confined", func() bool { return exists(ready) })
	watchdog := watchdogOf(cmd.Process.Pid)
	writeJSON(goes, true)
	if o := ended(t, cmd, cmd.Wait()); o.code != 7 || watchdog == 0 {
		t.Errorf("ended with %+v, watchdog %d", o, watchdog)
	}
	until(t, "the watchdog ends", func() bool { return !alive(watchdog) })
}

// TestWatchdogIsKilled: its command goes on, and is removed as any other.
func TestWatchdogIsKilled(t *testing.T) {
	needRoot(t)
	c, err := Start(t.Context(), Spec{Args: self("as-sleeper"), CPUs: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	unix.Kill(c.group.guard.pid, unix.SIGKILL)
	if settle(); !alive(c.pid) {
		t.Error("the command ended with it")
	}
	if n, err := c.Remove(); n != 0 || err != nil || len(children(os.Getpid())) != 0 {
		t.Errorf("Remove() = %d, %v; children %v", n, err, children(os.Getpid()))
	}
}

func TestWatchedGroupsAreOurs(t *testing.T) {
	const name = "snug-0123456789abcdef"
	dir := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := watchedGroup(name, []part{{dir: dir, group: "/other"}, {dir: filepath.Dir(dir), group: "/"}}, false)
	w.end()
	if !exists(dir) {
		t.Error("a directory of another name was removed")
	}
}

func TestProcessGroupWhoseNumberIsUsedAgain(t *testing.T) {
	cmd := command(self("as-sleeper"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	p, err := processGroupOf(pid)
	if err != nil || !slices.Equal(p.pids(), []int{pid}) {
		t.Errorf("%+v has %v, %v; want %d", p, p.pids(), err, pid)
	}
	later, elsewhere := p, p
	later.Started--
	elsewhere.Session++
	if len(later.pids()) != 0 || len(elsewhere.pids()) != 0 || len(processGroup{}.pids()) != 0 {
		t.Error("a process of another group is taken for one of it")
	}
	g := &group{processes: later}
	if g.kill(pid) || !alive(pid) {
		t.Error("a process of another group was killed")
	}
	g.processes = p
	if n := g.end(); n != 1 {
		t.Errorf("%d processes killed, want 1", n)
	}
	cmd.Wait()
	if len(p.pids()) != 0 || p.has(pid) {
		t.Error("a process that is gone is in the group")
	}
	if _, err := processGroupOf(os.Getpid()); err == nil && syscall.Getpgrp() != os.Getpid() {
		t.Error("a process that leads no group has one")
	}
}
