// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// throttledOnce has more to do than its quota gives until SIGUSR1, and then nothing.
const throttledOnce = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

func main() {
	var idle atomic.Bool
	for range 16 {
		go func() {
			for !idle.Load() {
			}
		}()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGUSR1)
	go func() {
		<-stop
		idle.Store(true)
	}()
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
`

// sleepers always has goroutines in system calls of 3 ms, as a program on a slow disk.
const sleepers = `package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func main() {
	for range 64 {
		go func() {
			for {
				syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 3000})
				for begin := time.Now(); time.Since(begin) < 100*time.Microsecond; {
				}
			}
		}()
	}
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
`

// A cpuGroup is the directory of a CPU cgroup (v1).
type cpuGroup string

// newCPUGroup makes a cgroup that a process will be moved into.
func newCPUGroup(t *testing.T, pid string) cpuGroup {
	t.Helper()
	group := filepath.Join("/sys/fs/cgroup/cpu", "snug-"+pid)
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The program ends after this, so that it has to leave first.
		if err := os.WriteFile("/sys/fs/cgroup/cpu/cgroup.procs", []byte(pid), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	return cpuGroup(group)
}

func (g cpuGroup) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(g), file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// throttled returns how many periods were throttled (cpu.stat).
func (g cpuGroup) throttled(t *testing.T) int {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join(string(g), "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), "nr_throttled ")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// startThrottled starts a program with 16 Ps under a quota in microseconds of a period of 10 ms, and returns when
// a number of periods have been throttled.
func startThrottled(t *testing.T, name, source, quota string, periods int) (pid string, group cpuGroup) {
	t.Helper()
	if !strings.Contains(os.Getenv("SNUG_E2E"), "root") {
		t.Skip("set SNUG_E2E=root to make a cgroup (v1)")
	}
	pid, _ = goprogram.Launched(t, name, source, "GOMAXPROCS=16")
	group = newCPUGroup(t, pid)
	group.write(t, "cpu.cfs_period_us", "10000")
	group.write(t, "cpu.cfs_quota_us", quota)
	group.write(t, "cgroup.procs", pid)
	for group.throttled(t) < periods {
		time.Sleep(50 * time.Millisecond)
	}
	return pid, group
}

// TestThrottledOnce: 16 Ps under a quota of 0.15 CPUs that was used up nearly always is one warning of doctor, ps
// and the agent with all three figures, although the process is idle now.
func TestThrottledOnce(t *testing.T) {
	pid, group := startThrottled(t, "throttled-once", throttledOnce, "1500", 400)
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for idle := 0; idle < 5; { // in no period for half a second
		before := group.throttled(t)
		time.Sleep(100 * time.Millisecond)
		if idle++; group.throttled(t) != before {
			idle = 0
		}
	}
	judge := func(command string, found []finding.Finding) {
		t.Helper()
		var about []finding.Finding
		for _, f := range found {
			if f.ID == "stale-procs" || f.ID == "sub-core-quota" || f.ID == "throttled-fit" || f.ID == "procs-above-quota" {
				about = append(about, f)
			}
		}
		if len(about) != 1 || about[0].ID != "stale-procs" || about[0].Severity != finding.SeverityWarning || !strings.Contains(about[0].Fix, "under load") {
			t.Fatalf("%s: %+v, want one warning", command, about)
		}
		values := map[string]float64{}
		for _, e := range about[0].Evidence {
			values[e.What] = e.Value
		}
		if values["GOMAXPROCS"] != 16 || values["CPU quota"] != 0.15 || !(values["throttled periods since the group was made"] > 0.8) {
			t.Errorf("%s: %+v", command, about[0].Evidence)
		}
	}
	code, out, talk := snug(t, "doctor", "--json", "--duration", "1s", "--fail-on", "warning", pid)
	var d finding.Doctor
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 3 || len(d.Targets) != 1 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	judge("doctor", d.Targets[0].Findings)
	code, out, talk = snug(t, "ps", "--json", pid)
	var ps finding.PS
	if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&ps); err != nil || code != 0 || len(ps.Processes) != 1 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	judge("ps", ps.Processes[0].Findings)
	// kubectl snug ps and doctor show what the agents found.
	code, out, talk = snug(t, "agent", "--once", "--json")
	var node finding.Node
	if err := json.Unmarshal([]byte(out), &node); err != nil || code != 0 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	listed := 0
	for i := range node.Containers {
		for j := range node.Containers[i].Processes {
			if p := &node.Containers[i].Processes[j]; p.PID == n {
				judge("agent", p.Findings)
				listed++
			}
		}
	}
	if listed != 1 {
		t.Errorf("the agent lists it %d times", listed)
	}
	if _, out, _ := snug(t, "ps", pid); !strings.Contains(out, "1 with a warning or worse") {
		t.Errorf("%s", out)
	}
	if _, out, _ := snug(t, "plan", "--pid", pid); !strings.Contains(out, "warning: GOMAXPROCS=16 is too much for a CPU limit of 0.15 cores") {
		t.Errorf("%s", out)
	}
}

// TestDoctorKeepsItsAdvice: doctor says nothing against 16 Ps on half a core while goroutines sleep in system calls.
// The warning of plan, which cannot see that, names doctor.
func TestDoctorKeepsItsAdvice(t *testing.T) {
	pid, _ := startThrottled(t, "sleepers", sleepers, "5000", 200)
	code, out, talk := snug(t, "doctor", "--json", "--duration", "3s", "--fail-on", "never", pid)
	var d finding.Doctor
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Targets) != 1 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	for _, f := range d.Targets[0].Findings {
		if f.ID == "stale-procs" || strings.Contains(f.Fix, "GOMAXPROCS=1") {
			t.Errorf("%+v", f)
		}
	}
	if _, out, _ := snug(t, "plan", "--pid", pid); !strings.Contains(out, "warning: GOMAXPROCS=16 is too much for a CPU limit of 0.5 cores") || !strings.Contains(out, "snug doctor PID") {
		t.Errorf("%s", out)
	}
}
