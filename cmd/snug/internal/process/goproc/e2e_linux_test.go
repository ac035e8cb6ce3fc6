// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestMain lets the test's own binary read processes as another user.
func TestMain(m *testing.M) {
	pid, err := strconv.Atoi(os.Getenv("GOPROC_TEST_LOOK"))
	if err != nil {
		os.Exit(m.Run())
	}
	p, err := proc.Open(pid)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	f := Look(p, NewCache(""))
	seen := seenBy{Facts: *f, Denied: errors.Is(f.Err, proc.ErrDenied)}
	seen.Facts.Err = nil
	if err := gob.NewEncoder(os.Stdout).Encode(seen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// seenBy returns what another user sees.
type seenBy struct {
	Facts  Facts
	Denied bool
}

func wants(word string) bool {
	return strings.Contains(","+os.Getenv("SNUG_E2E")+",", ","+word+",")
}

func needRoot(t *testing.T) {
	t.Helper()
	if !wants("root") {
		t.Skip("set SNUG_E2E=root to run as root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root, but this is not root")
	}
}

const nobody = 65534

// A looker answers without histograms, whose fields are not exported.
func (Durations) GobEncode() ([]byte, error) { return nil, nil }
func (*Durations) GobDecode([]byte) error    { return nil }

// TestOtherUser checks that another user gets the figures that any user may read and one hint, and
// that the same user needs no rights.
func TestOtherUser(t *testing.T) {
	needRoot(t)
	file := buildTarget(t, how{goLine: "1.26", flags: []string{"-buildmode=pie", "-ldflags=-s -w"}})
	looker := filepath.Join(openFolder(t), "looker")
	copyFile(t, "/proc/self/exe", looker)
	as := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	}
	lookAs := func(target *child) (seen seenBy) {
		cmd := as(exec.Command(looker))
		cmd.Env = []string{"GOPROC_TEST_LOOK=" + strconv.Itoa(target.cmd.Process.Pid)}
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err == nil {
			err = gob.NewDecoder(bytes.NewReader(out)).Decode(&seen)
		}
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	t.Run("another", func(t *testing.T) {
		seen := lookAs(startTarget(t, exec.Command(file), "GOMAXPROCS=3"))
		f := seen.Facts
		if !seen.Denied || f.Hint != "run as user 0 or with CAP_SYS_PTRACE" || f.Exe.IsGo || f.Env != nil || f.GOMAXPROCS.Known() {
			t.Errorf("%+v", seen)
		}
		if f.Stat.Name != "target" || f.Status.UID != 0 || f.Stat.RSSBytes == 0 || f.GOMAXPROCS.Why == "" || f.GOMAXPROCSBy.Detail == "" {
			t.Errorf("%+v", seen)
		}
	})
	t.Run("the same", func(t *testing.T) {
		target := startTarget(t, as(exec.Command(file)), "GOMAXPROCS=3")
		seen := lookAs(target)
		if seen.Denied || seen.Facts.Status.UID != nobody || seen.Facts.GOMAXPROCSBy.By != ByEnvironment {
			t.Errorf("%+v", seen)
		}
		agree(t, &seen.Facts, target.ask("truth"))
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNamespaces reads programs in other mount namespaces.
func TestNamespaces(t *testing.T) {
	needRoot(t)
	file := buildTarget(t, how{goLine: "1.26", flags: []string{"-ldflags=-s -w"}})
	check := func(t *testing.T, cmd *exec.Cmd, path string, nsPid bool) {
		t.Helper()
		target := startTarget(t, cmd, "GOMAXPROCS=3", "GOMEMLIMIT=99MiB")
		pid := target.cmd.Process.Pid
		if nsPid { // unshare waits for its child, which is the program
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
			if err == nil {
				pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f := look(t, pid, NewCache(""))
		agree(t, f, target.ask("truth"))
		if f.Path != path || f.Deleted || (f.Status.NSPid == 1) != nsPid {
			t.Errorf("path %q, want %q; deleted %v, %+v", f.Path, path, f.Deleted, f.Status)
		}
		if _, err := os.Stat(path); err == nil && nsPid {
			t.Errorf("%s can be seen from here", path)
		}
	}
	t.Run("chroot", func(t *testing.T) {
		dir := openFolder(t)
		copyFile(t, file, filepath.Join(dir, "snug-test-target"))
		cmd := exec.Command("/snug-test-target")
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: dir}
		check(t, cmd, filepath.Join(dir, "snug-test-target"), false)
	})
	t.Run("mount and pid namespace", func(t *testing.T) {
		dir := openFolder(t)
		script := `mount -t tmpfs none "$1" && cp "$0" "$1/hidden" && exec "$1/hidden"`
		check(t, exec.Command("unshare", "-m", "-p", "-f", "sh", "-c", script, file, dir), filepath.Join(dir, "hidden"), true)
	})
}
