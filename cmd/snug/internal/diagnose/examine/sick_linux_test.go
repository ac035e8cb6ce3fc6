// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestMain(m *testing.M) { goprogram.Main(m) }

// sick starts testdata/sick with a disease and returns its pid.
func sick(t *testing.T, disease string, env ...string) int {
	t.Helper()
	source, err := os.ReadFile("testdata/sick/main.go")
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := goprogram.Launched(t, "sick", string(source), append([]string{"DISEASE=" + disease, "GOMAXPROCS=1", "GOMEMLIMIT=off"}, env...)...)
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(n, syscall.SIGKILL) }) // it may be too busy to see its input end
	return n
}

// sampled skips the test where CPU time cannot be sampled.
func sampled(t *testing.T) {
	t.Helper()
	_, err := cpuprof.Capture(t.Context(), os.Getpid(), cpuprof.Options{Duration: time.Millisecond})
	if errors.Is(err, cpuprof.ErrDenied) {
		t.Skip(err)
	}
}

// TestSick: each disease is the first finding, and its fix names the function that causes it.
func TestSick(t *testing.T) {
	sampled(t)
	files := goproc.NewCache("")
	for _, c := range []struct{ disease, id, by, env string }{
		{"timers", "sched-cpu", "main.tick", ""},
		{"goroutines", "sched-cpu", "main.goroutines", ""},
		{"messages", "sched-cpu", "main.messages", ""},
		{"lock", "lock-cpu", "main.contend", "GOMAXPROCS=2"},
		{"stacks", "stack-cpu", "main.deep", ""},
		{"calls", "syscall-cpu", "main.write", ""},
	} {
		t.Run(c.disease, func(t *testing.T) {
			pid := sick(t, c.disease, strings.Fields(c.env)...)
			var e *finding.Examined
			for d := time.Second; d < time.Minute; d *= 2 { // few samples where others have the CPU
				var err error
				if e, err = Process(t.Context(), pid, d, files); err != nil {
					t.Fatal(err)
				}
				own := slices.DeleteFunc(slices.Clone(e.Findings), func(f finding.Finding) bool { return f.ID == "neighbours" })
				if len(own) > 0 && own[0].ID == c.id && strings.Contains(own[0].Fix, c.by) {
					return
				}
			}
			if i := slices.IndexFunc(e.Facts, func(f finding.Evidence) bool { return f.What == "CPU used" }); c.disease == "lock" && i >= 0 && e.Facts[i].Value < 1.2 {
				t.Skip("two CPUs were not free, and on one nothing contends")
			}
			t.Errorf("%+v", e)
		})
	}
}

// TestGrowing: growth, a queue for a mutex and held Ps are found, and what warms up or is garbage is not taken for
// growth.
func TestGrowing(t *testing.T) {
	files := goproc.NewCache("")
	for _, c := range []struct{ disease, id, fix, env string }{
		{"leak", "memory-growth", "keep less", ""},
		{"foreign", "memory-growth", "code in C", ""},
		{"abandon", "goroutine-growth", "main.abandon", ""},
		{"queue", "lock-wait", "main.hold", ""},
		{"threads", "thread-growth", "bound how many", ""},
		{"blocked", "procs-held", "main.sleepy", ""},
		{"pool", "procs-queue", "main.pool", "GOMAXPROCS=" + strconv.Itoa(runtime.NumCPU())},
		{"after", "timers-kept", "time.After in main.after", "GODEBUG=asynctimerchan=1"},
		{"finalizers", "finalizers-behind", "as main.shut", ""},
	} {
		t.Run(c.disease, func(t *testing.T) {
			pid := sick(t, c.disease, strings.Fields(c.env)...)
			var e *finding.Examined
			for d := 2 * time.Second; d < 40*time.Second; d *= 2 { // it grows slowly where others have the CPU
				var err error
				if e, err = Process(t.Context(), pid, d, files); err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(e.Findings, func(f finding.Finding) bool { return f.ID == c.id && strings.Contains(f.Fix, c.fix) }) {
					return
				}
			}
			t.Errorf("%+v", e)
		})
	}
	for _, healthy := range []string{"garbage", "cache", "served", "after"} {
		t.Run(healthy, func(t *testing.T) {
			e, err := Process(t.Context(), sick(t, healthy), 8*time.Second, files)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range e.Findings {
				if strings.HasSuffix(f.ID, "-growth") || f.ID == "procs-held" || f.ID == "procs-queue" || f.ID == "timers-kept" || f.ID == "finalizers-behind" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestHealthy: nothing is said of how a program that computes is written.
func TestHealthy(t *testing.T) {
	sampled(t)
	e, err := Process(t.Context(), sick(t, "none"), 2*time.Second, goproc.NewCache(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range e.Findings {
		if strings.HasSuffix(f.ID, "-cpu") {
			t.Errorf("%+v", f)
		}
	}
}

// TestStopped: a process that signals stopped is not just idle.
func TestStopped(t *testing.T) {
	pid, files := sick(t, "none"), goproc.NewCache("")
	stopped := func() bool {
		e, err := Process(t.Context(), pid, 0, files)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(e.Unknown, func(g finding.Gap) bool { return strings.Contains(g.Why, "kill -CONT "+strconv.Itoa(pid)) })
	}
	if stopped() {
		t.Error("stopped, before it was")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !stopped(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not a word of it")
		}
	}
}
