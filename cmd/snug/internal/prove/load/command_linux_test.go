// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ran runs a command to its end.
func ran(t *testing.T, ctx context.Context, shell string) (Ended, string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	end, err := Command{Shell: shell, Env: Variables("WORD=a b"), Stdout: out, Stderr: out}.Run(ctx, exe)
	text, _ := os.ReadFile(out.Name())
	return end, string(text), err
}

func TestCommand(t *testing.T) {
	t.Setenv("GOGC", "50")
	for _, tt := range []struct{ name, shell, how, out string }{
		{"succeeds", `echo "$WORD"; echo more >&2`, "exit code 0", "a b\nmore\n"},
		{"fails", "echo no; exit 3", "exit code 3", "no\n"},
		{"is killed", "kill -9 $$", "killed by killed", ""},
		{"is not there", "/nowhere/at/all 2>/dev/null", "exit code 127", ""},
		{"does not see the program's knobs", "echo $GOGC", "exit code 0", "\n"},
		{"has no input", "cat", "exit code 0", ""},
		{"has a group of its own", `test "$(ps -o pgid= -p $$)" -eq $$`, "exit code 0", ""},
		{"is interrupted by itself", "kill -INT $$; echo ignored", "killed by interrupt", ""},
	} {
		end, out, err := ran(t, t.Context(), tt.shell)
		if err != nil || end.How() != tt.how || out != tt.out || end.OK() != (tt.how == "exit code 0") {
			t.Errorf("%s: %s, %q, %v; want %s, %q", tt.name, end.How(), out, err, tt.how, tt.out)
		}
		if end.Policy != "SCHED_OTHER" || end.Wall <= 0 {
			t.Errorf("%s: policy %q, %v s", tt.name, end.Policy, end.Wall)
		}
	}
	end, _, err := ran(t, t.Context(), "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	if err != nil || end.CPU <= 0 || end.CPU > end.Wall+1 {
		t.Errorf("CPU time %v of %v s, %v", end.CPU, end.Wall, err)
	}
}

func TestCommandLeavesNothing(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, shell string
		stop        bool // by its context
	}{
		{"ends", leaves, false},
		{"fails", leaves + "exit 3", false},
		{"is stopped", leaves + "sleep 1000", true},
		{"is stopped and deaf", leaves + "trap '' TERM; while :; do sleep 1; done", true},
	} {
		where := filepath.Join(t.TempDir(), "pids")
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("no longer")
		done := make(chan error, 1)
		go func() {
			_, err := Command{Shell: tt.shell, Env: Variables("WHERE=" + where)}.Run(ctx, exe)
			done <- err
		}()
		if tt.stop {
			awaitPIDs(t, where)
			cancel(why)
		}
		if err := <-done; tt.stop != errors.Is(err, why) || !tt.stop && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, pid := range awaitPIDs(t, where) {
			if lives(pid) {
				t.Errorf("%s: %d still runs", tt.name, pid)
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		cancel(nil)
	}
}

// TestCommandOfKilledParent: a command does not outlive the process that wants it.
func TestCommandOfKilledParent(t *testing.T) {
	exe, _ := os.Executable()
	where := filepath.Join(t.TempDir(), "pids")
	parent := exec.Command(exe)
	parent.Env = append(os.Environ(), role+"=commander", "WHERE="+where)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pids := awaitPIDs(t, where)
	parent.Process.Kill()
	parent.Wait()
	for _, pid := range pids {
		if !within(func() bool { return !lives(pid) }) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("%d has outlived snug", pid)
		}
	}
}

// awaitPIDs waits for the two processes of leaves.
func awaitPIDs(t *testing.T, file string) (pids []int) {
	t.Helper()
	if !within(func() bool {
		text, _ := os.ReadFile(file)
		pids = nil
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == 2 && bytes.Count(text, []byte("\n")) == 2
	}) {
		t.Fatalf("two processes do not start: %v", pids)
	}
	return pids
}

// within waits up to a minute for a condition.
func within(ask func() bool) bool {
	for range 6000 {
		if ask() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestCommandCannotStart(t *testing.T) {
	if _, err := (Command{Shell: "true"}).Run(t.Context(), "/nowhere"); err == nil || !strings.Contains(err.Error(), "cannot start the command") {
		t.Errorf("%v", err)
	}
	if _, err := (Command{Shell: "true"}).Run(t.Context(), "/bin/false"); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("%v", err)
	}
}
