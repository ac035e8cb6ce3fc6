// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// groupsNamed returns every directory of a name in cgroupfs.
func groupsNamed(name string) []string {
	var list []string
	for _, dir := range strays() {
		if filepath.Base(dir) == name {
			list = append(list, dir)
		}
	}
	return list
}

func TestKilledSnugLeavesAConfinedCommandAndALaterRunCleansUp(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	ready, signals := filepath.Join(dir, "ready"), filepath.Join(dir, "signals")
	cmd := snug("-cpus 0.5 -memory 67108864 -ready "+ready, "as-counter", signals)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command is ready", func() bool { return len(lines(signals)) == 1 })
	c := readJSON[Confinement](t, ready)
	name := filepath.Base(c.CPUGroup)
	watchdog := watchdogOf(cmd.Process.Pid)
	unix.Kill(watchdog, unix.SIGKILL)
	until(t, "the watchdog ends", func() bool { return !alive(watchdog) })
	cmd.Process.Kill()
	cmd.Wait()
	groups := groupsNamed(name)
	if len(groups) == 0 {
		t.Fatalf("no group is called %s", name)
	}
	for _, g := range groups { // as if the command had made them: empty, but possibly in use
		if err := os.Mkdir(filepath.Join(g, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	later := func() {
		t.Helper()
		if o := run(t, snug("-cpus 1 -memory 67108864", "as-exit", "0")); o.code != 0 {
			t.Fatalf("%+v", o)
		}
	}
	inGroup := func() bool {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(c.PID) + "/cgroup")
		return strings.Contains(string(b), c.CPUGroup+"\n")
	}

	later()
	if unix.Kill(c.PID, unix.SIGUSR1) != nil || !inGroup() {
		t.Fatal("the command did not live on in its group")
	}
	until(t, "a signal arrives", func() bool { return slices.Equal(signalsIn(signals), []string{"10"}) })
	for _, g := range groups {
		if !exists(filepath.Join(g, "below")) {
			t.Errorf("a later run took a group from a living command, %s", g)
		}
	}

	// A group with an owner that has just made it, and one with a name that snug does not give.
	fresh, stranger := filepath.Join(filepath.Dir(groups[0]), newName()), filepath.Join(filepath.Dir(groups[0]), "snug-stranger")
	lock, err := makeDir(part{parent: filepath.Dir(fresh), dir: fresh})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.Mkdir(stranger, 0o755); err != nil {
		t.Fatal(err)
	}

	unix.Kill(c.PID, unix.SIGKILL)
	until(t, "the later run removes the group", func() bool {
		later()
		return len(groupsNamed(name)) == 0
	})
	for _, dir := range []string{fresh, stranger} {
		if err := os.Remove(dir); err != nil {
			t.Errorf("a later run removed a group that is not its own: %v", err)
		}
	}
}

// TestGroupSurvivesSweepsWhileItIsMade: a sweep takes no group whose owner lives.
func TestGroupSurvivesSweepsWhileItIsMade(t *testing.T) {
	needRoot(t)
	parent := filepath.Join("/sys/fs/cgroup", "cpu")
	if !exists(parent) {
		parent = filepath.Dir(parent)
	}
	done := make(chan bool)
	var sweepers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					sweep([]part{{parent: parent}})
				}
			}
		})
	}
	for range 200 {
		dir := filepath.Join(parent, newName())
		lock, err := makeDir(part{parent: parent, dir: dir})
		if err != nil {
			t.Error(err)
			break
		}
		if err := os.Remove(dir); err != nil {
			t.Errorf("a sweep removed a group that was locked: %v", err)
		}
		lock.Close()
	}
	close(done)
	sweepers.Wait()
}

func TestGroupIsMadeOnlyInACgroupTree(t *testing.T) {
	dir := t.TempDir()
	a := attempt{parts: []part{{v1: true, controllers: []string{"cpu"}, parent: dir, dir: filepath.Join(dir, "x")}}}
	if _, err := makeGroup(a, want{}, "x"); !errors.Is(err, errCovered) || exists(filepath.Join(dir, "x")) {
		t.Errorf("makeGroup in a plain directory: %v", err)
	}
	plain := filepath.Join(dir, newName())
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	if sweep(a.parts); !exists(plain) {
		t.Error("a sweep removed a plain directory")
	}
}
