// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
		if o := run(t, snug("-cpus 1", "as-exit", "0")); o.code != 0 {
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

	// An empty group named like snug's that no record names is not snug's.
	stranger := filepath.Join(filepath.Dir(groups[0]), newName())
	if err := os.Mkdir(stranger, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(stranger)

	unix.Kill(c.PID, unix.SIGKILL)
	until(t, "the later run removes the group", func() bool {
		later()
		return len(groupsNamed(name)) == 0 && !exists("/run/snug/"+name+".json")
	})
	if !exists(stranger) {
		t.Error("a later run removed a group that is not its own")
	}
	if err := os.Remove(stranger); err != nil {
		t.Error(err)
	}
}

func TestSweepTouchesOnlyWhatItMay(t *testing.T) {
	dir := t.TempDir()
	rec := func(name, bootID string, groups ...string) string {
		b, _ := json.Marshal(recordText{bootID, groups})
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	victim := filepath.Join(dir, "snug-1111111111111111") // a directory, but in no cgroupfs
	if err := os.Mkdir(victim, 0o755); err != nil {
		t.Fatal(err)
	}

	otherBoot := rec("snug-0000000000000001", "another-boot", victim)
	otherName := rec("snug-0000000000000002", bootID(), victim)
	notCgroup := rec("snug-1111111111111111", bootID(), victim)
	garbage := filepath.Join(dir, "snug-0000000000000003.json")
	os.WriteFile(garbage, []byte("{"), 0o600)
	foreign := filepath.Join(dir, "notes.json")
	os.WriteFile(foreign, []byte("{}"), 0o600)
	link := filepath.Join(dir, "snug-0000000000000004.json")
	os.Symlink(foreign, link)
	fifo := filepath.Join(dir, "snug-0000000000000005.json")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	unmounted := rec("snug-0000000000000007", bootID(), filepath.Join(dir, "cpu", "snug-0000000000000007"))
	locked := rec("snug-0000000000000006", "another-boot")
	f, err := os.Open(locked)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}

	sweep(dir)
	for _, tt := range []struct {
		what, file string
		want       bool
	}{
		{"a directory that a record names and that is no cgroup", victim, true},
		{"a record of another boot", otherBoot, false},
		{"a record that names a group of another name", otherName, false},
		{"a record whose group could not be removed", notCgroup, true},
		{"a record that was never written", garbage, false},
		{"a record whose group is where no cgroupfs is mounted now", unmounted, true},
		{"a file that is no record", foreign, true},
		{"a link", link, true},
		{"a pipe", fifo, true},
		{"a record whose owner lives", locked, true},
	} {
		if got := func() bool { _, err := os.Lstat(tt.file); return err == nil }(); got != tt.want {
			t.Errorf("%s: there afterwards %v, want %v", tt.what, got, tt.want)
		}
	}
}

func TestRecordDirectoryMustBeOurs(t *testing.T) {
	dir := t.TempDir()
	uid := os.Geteuid()
	fresh, open, link, file := filepath.Join(dir, "fresh"), filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	os.Mkdir(open, 0o777)
	os.Chmod(open, 0o777)
	os.Symlink(dir, link)
	os.WriteFile(file, nil, 0o600)
	for name, ok := range map[string]bool{fresh: true, dir: true, open: false, link: false, file: false} {
		if err := ownDir(name, uid); (err == nil) != ok {
			t.Errorf("ownDir(%s) = %v", filepath.Base(name), err)
		}
	}
	if err := ownDir(fresh, uid+1); err == nil {
		t.Error("a directory of another user was accepted")
	}
}

func TestRecordIsLockedWhileItsOwnerLives(t *testing.T) {
	dir := t.TempDir()
	r, err := newRecord([]string{dir}, nil, "snug-0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "snug-0123456789abcdef.json")
	if sweep(dir); !exists(file) {
		t.Fatal("a sweep removed the record of a living owner")
	}
	if _, err := newRecord([]string{dir}, nil, "snug-0123456789abcdef"); err == nil {
		t.Error("a second record of the same name was made")
	}
	r.release()
	if sweep(dir); exists(file) {
		t.Error("a sweep left the record of a group that is gone")
	}
}

func TestEmptyRecordDirectoryIsRemovedFromAmongTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	standing, fallback := filepath.Join(dir, "snug"), filepath.Join(dir, "snug-1000")
	for _, state := range []string{standing, fallback} {
		r, err := newRecord([]string{filepath.Join(dir, "none", "snug"), state}, nil, "snug-0123456789abcdef")
		if err != nil {
			t.Fatal(err)
		}
		r.drop()
		if left := exists(state); left != (state == standing) {
			t.Errorf("%s: there afterwards %v", state, left)
		}
	}
	// A sweep also finds a record that a killed run left in the second directory.
	r, err := newRecord([]string{fallback}, nil, "snug-0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	r.release()
	if sweep(standing, fallback); exists(fallback) {
		t.Error("the second directory was not swept")
	}
}

func TestRecordSurvivesSweepsWhileItIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snug-1000")
	done := make(chan bool)
	var sweepers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					sweep(dir)
				}
			}
		})
	}
	for range 200 {
		r, err := newRecord([]string{dir}, nil, newName())
		if err != nil {
			t.Error(err)
			break
		}
		if removed(r.file) {
			t.Error("a sweep removed a record that was locked")
		}
		r.drop()
	}
	close(done)
	sweepers.Wait()
}

func TestGroupIsMadeOnlyInACgroupTree(t *testing.T) {
	dir := t.TempDir()
	a := attempt{parts: []part{{v1: true, controllers: []string{"cpu"}, parent: dir, dir: filepath.Join(dir, "x")}}}
	if _, err := makeGroup(a, want{}, nil, "x"); !errors.Is(err, errCovered) || exists(filepath.Join(dir, "x")) {
		t.Errorf("makeGroup in a plain directory: %v", err)
	}
}
