// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
)

// leaves starts two processes and does not wait for them; one of them has a session of its own and is deaf to SIGTERM.
const leaves = `
	sleep 1000 & echo $! >> "$SNUG_URL"
	setsid sh -c 'trap "" TERM; echo $$ >> "$0"; sleep 1000; :' "$SNUG_URL" &
	until [ "$(wc -l < "$SNUG_URL")" = 2 ]; do sleep 0.01; done
`

// beside returns a Runner whose commands see an address.
func beside(t *testing.T, url string) *Runner {
	t.Helper()
	r := &Runner{Window: time.Second}
	r.Request.URLs = []string{url}
	return r
}

// ran runs a command to its end.
func ran(t *testing.T, ctx context.Context, shell string) (ended, string, error) {
	t.Helper()
	end, s, err := beside(t, "a b").outside(ctx, shell, experiment.Trial{}, phaseMeasure, time.Second, time.Hour)
	return end, string(s.out.tail) + string(s.err.tail), err
}

func TestCommand(t *testing.T) {
	t.Setenv("GOGC", "50")
	for _, tt := range []struct{ name, shell, how, out string }{
		{"succeeds", `echo "$SNUG_URL"; echo more >&2`, "exit code 0", "a b\nmore\n"},
		{"fails", "echo no; exit 3", "exit code 3", "no\n"},
		{"is killed", "kill -9 $$", "killed by killed", ""},
		{"is not there", "/nowhere/at/all 2>/dev/null", "exit code 127", ""},
		{"does not see the program's knobs", "echo $GOGC", "exit code 0", "\n"},
		{"has no input", "cat", "exit code 0", ""},
		{"has a group of its own", `test "$(ps -o pgid= -p $$)" -eq $$`, "exit code 0", ""},
		{"is interrupted by itself", "kill -INT $$; echo ignored", "killed by interrupt", ""},
	} {
		end, out, err := ran(t, t.Context(), tt.shell)
		if err != nil || end.how() != tt.how || out != tt.out || (end.Code == 0) != (tt.how == "exit code 0") {
			t.Errorf("%s: %s, %q, %v; want %s, %q", tt.name, end.how(), out, err, tt.how, tt.out)
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
			_, _, err := beside(t, where).outside(ctx, tt.shell, experiment.Trial{}, phaseMeasure, time.Second, time.Hour)
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
	parent.Env = append(os.Environ(), commander+"="+where)
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

// commander is the variable with which this binary runs a command that does not end.
const commander = "SNUG_TEST_COMMANDER"

func init() {
	command = func(where string) {
		r := &Runner{}
		r.Request.URLs = []string{where}
		r.outside(context.Background(), leaves+"sleep 1000", experiment.Trial{}, phaseMeasure, time.Second, time.Hour)
	}
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return err == nil && len(rest) > 0 && rest[0] != 'Z'
}

func TestCommandRealTime(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to become real-time")
	}
	r := beside(t, "")
	r.RealTime = true
	for phase, want := range map[string]string{phaseMeasure: "SCHED_RR", phasePrepare: "SCHED_OTHER"} {
		end, s, err := r.outside(t.Context(), "chrt -p $$", experiment.Trial{}, phase, time.Second, time.Hour)
		if err != nil || end.Policy != want || !strings.Contains(string(s.out.tail), want) {
			t.Errorf("%s: %q, %q, %v", phase, end.Policy, s.out.tail, err)
		}
	}
	out, err := exec.Command("setpriv", "--bounding-set=-all", "--inh-caps=-all", "prlimit", "--rtprio=0", os.Args[0], "-test.run=^TestCommandRealTimeRefused$", "-test.v").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCommandRealTimeRefused: without the permission the command does not start.
func TestCommandRealTimeRefused(t *testing.T) {
	r := beside(t, "")
	r.RealTime = true
	_, _, err := r.outside(t.Context(), "true", experiment.Trial{}, phaseMeasure, time.Second, time.Hour)
	if err == nil {
		t.Skip("real-time priority is permitted")
	}
	if !strings.Contains(err.Error(), "cannot become real-time: sched_setattr: operation not permitted") || !strings.Contains(cgrun.Hint(err), "CAP_SYS_NICE") {
		t.Errorf("%v; %s", err, cgrun.Hint(err))
	}
}

func TestCommandCannotStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer")
	cancel(why)
	if _, _, err := beside(t, "").outside(ctx, "true", experiment.Trial{}, phaseMeasure, time.Second, time.Hour); !errors.Is(err, why) {
		t.Error(err)
	}
}
