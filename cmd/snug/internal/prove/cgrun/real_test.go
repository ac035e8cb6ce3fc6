// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests make real groups, of whatever version this machine has. They also
// run as a static binary in a virtual machine that mounts cgroup2 and has +cpu
// +memory in the root's cgroup.subtree_control:
//
//	CGO_ENABLED=0 go test -c -o cgrun.test . && SNUG_E2E=root ./cgrun.test -test.v
func needRoot(t *testing.T) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to make real cgroups")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root needs root")
	}
	before := strays()
	t.Cleanup(func() {
		if !t.Failed() {
			nothingNew(t, before)
		}
	})
}

// nothingNew waits until everything made since before is gone. Other runs on this
// machine also make and remove groups meanwhile; what stays is left behind.
func nothingNew(t *testing.T, before []string) {
	t.Helper()
	left := strays()
	gone := func(name string) bool { return slices.Contains(before, name) }
	for late := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		if left = slices.DeleteFunc(left, gone); len(left) == 0 {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("left behind: %q, before there was %q", left, before)
		}
		now := strays()
		gone = func(name string) bool { return !slices.Contains(now, name) }
	}
}

// strays returns every group with a name like snug's, and the groups below, except those with a
// living owner: this machine may have other users of snug.
func strays() []string {
	var list []string
	filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.Contains(name, "/snug-") {
			return nil
		}
		f, err := os.Open(name)
		if err != nil {
			return nil
		}
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
			return filepath.SkipDir
		}
		list = append(list, name)
		return nil
	})
	return list
}

func self(args ...string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{exe}, args...)
}

func command(args []string) *exec.Cmd {
	return exec.Command(args[0], args[1:]...)
}

type outcome struct {
	stdout, stderr string
	code           int // -1 when killed
	signal         syscall.Signal
	core           bool
}

func ended(t *testing.T, cmd *exec.Cmd, err error) outcome {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{code: cmd.ProcessState.ExitCode()}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		o.signal, o.core = ws.Signal(), ws.CoreDump()
	}
	return o
}

// run runs a command to its end.
func run(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	o := ended(t, cmd, cmd.Run())
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o
}

// snug runs as-snug with flags and a command that is a role of this binary.
func snug(flags string, role ...string) *exec.Cmd {
	args := append(self("as-snug"), strings.Fields(flags)...)
	return command(append(append(args, "--"), self(role...)...))
}

func readJSON[T any](t *testing.T, name string) (v T) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// saved is Result in a form for JSON.
type saved struct {
	Exit
	Confinement Confinement
	Usage       Usage
	Leftovers   int
}

// hang is the time after which a wait has failed.
const hang = 3 * time.Minute

// until waits for something to become true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); time.Since(start) < hang; time.Sleep(5 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("did not happen: %s", what)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
