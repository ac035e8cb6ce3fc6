// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// sized is what the test reads of a document of snug size.
type sized struct {
	Collections int `json:"collections"`
	Memory      struct {
		Value, Least *float64
		Why          struct{ Code string }
	} `json:"memory_limit_bytes"`
	GOMEMLIMIT struct{ Value *float64 } `json:"gomemlimit_bytes"`
	Seen       struct {
		Used float64 `json:"used_most_bytes"`
	} `json:"seen"`
	Curve []struct{} `json:"curve"`
}

// TestSize: a program that fills its container with garbage is advised to shrink, and lives in the smallest container
// that is ever advised: where memory is dear.
func TestSize(t *testing.T) {
	gate.Root(t, "advice")
	dir := t.TempDir()
	snug, churn := filepath.Join(dir, "snug"), filepath.Join(dir, "churn")
	for name, source := range map[string]string{snug: "../../../cmd/snug", churn: "../../../experiments/2026-11-27-size/churn.go"} {
		build := exec.Command("go", "build", "-o", name, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	const mib = 1 << 20
	const given, filled = 256 * mib, 180 * mib
	first := watch(t, snug, churn, given, given*9/10, func(d *sized) bool { return d.Seen.Used >= filled && len(d.Curve) > 0 })
	if n := first.Memory.Value; n == nil || *n >= first.Seen.Used || first.Memory.Least == nil || first.GOMEMLIMIT.Value == nil {
		t.Fatalf("%+v: %s", first, first.Memory.Why.Code)
	}
	t.Logf("%.0f of %d MiB used, %.0f advised", first.Seen.Used/mib, given/mib, *first.Memory.Value/mib)
	then := watch(t, snug, churn, int64(*first.Memory.Value), int64(*first.GOMEMLIMIT.Value), func(d *sized) bool { return d.Collections > 0 })
	if then.Seen.Used >= *first.Memory.Value {
		t.Errorf("%+v", then)
	}
}

// watch starts the program in a container and asks snug size, until the answer is enough.
func watch(t *testing.T, snug, churn string, memory, limit int64, enough func(*sized) bool) sized {
	t.Helper()
	run := exec.Command(snug, "run", "--memory", strconv.FormatInt(memory, 10), "--cpus", "1", "--", churn, "30", "50")
	run.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT="+strconv.FormatInt(limit, 10), "GOMAXPROCS=", "GODEBUG=")
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	defer func() {
		run.Process.Signal(syscall.SIGTERM) // snug run passes it on
		select {
		case <-ended:
		case <-time.After(time.Minute):
			run.Process.Kill()
		}
	}()
	for {
		select {
		case err := <-ended:
			t.Fatalf("it ended in %d MiB: %v", memory>>20, err)
		default:
		}
		pid := child(run.Process.Pid, churn)
		if pid == "" {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		out, err := exec.Command(snug, "size", pid, "--for", "15s", "--price", "0.0001,1", "--json").Output()
		if err != nil {
			t.Fatalf("in %d MiB: %v\n%s", memory>>20, err, err.(*exec.ExitError).Stderr)
		}
		var d sized
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		if enough(&d) {
			return d
		}
	}
}

// child returns the child of a process that runs a program; "" = there is none yet.
func child(pid int, program string) string {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, of := range strings.Fields(string(text)) {
			if exe, err := os.Readlink("/proc/" + of + "/exe"); err == nil && exe == program {
				return of
			}
		}
	}
	return ""
}
