// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestRemoveWhileRunning: remove of a running program returns no error, every time. Two
// places wait for its end.
func TestRemoveWhileRunning(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs are started on Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Runner{Self: self, NoLimit: true}
	for range 20 {
		p, err := r.start(context.Background(), finding.Arm{Workload: "command"}, launch{args: []string{"sleep", "60"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.remove(); err != nil {
			t.Fatal(err)
		}
		if p.failed != nil || p.exit.Signal != 9 {
			t.Fatalf("waiting for it: %v, %+v", p.failed, p.exit)
		}
	}
}

func TestEnforced(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name string
		arm  finding.Arm
		held cgrun.Confinement
		want string // in the error; "" for none
	}{
		{"as asked", finding.Arm{Quota: 1, Memory: 64 * mib},
			cgrun.Confinement{Way: cgrun.WayV2, QuotaMicros: 100_000, PeriodMicros: 100_000, CPUs: 1, LimitBytes: 64 * mib, MemoryBytes: 64 * mib}, ""},
		{"rounded to a microsecond", finding.Arm{Quota: 1.0 / 3},
			cgrun.Confinement{Way: cgrun.WayV1, QuotaMicros: 33_333, PeriodMicros: 100_000, CPUs: 0.33333}, ""},
		{"rounded by systemd", finding.Arm{Quota: 0.125},
			cgrun.Confinement{Way: cgrun.WaySystemd, QuotaMicros: 12_000, PeriodMicros: 100_000, CPUs: 0.12}, ""},
		{"above systemd's scope", finding.Arm{Quota: 1},
			cgrun.Confinement{Way: cgrun.WaySystemd, QuotaMicros: 100_000, PeriodMicros: 100_000, CPUs: 0.5, CPUsFrom: "/slice/cpu.max"}, "only 0.5 of the 1 requested CPUs are available, /slice/cpu.max"},
		{"lowered on v1", finding.Arm{Quota: 2},
			cgrun.Confinement{Way: cgrun.WayV1, QuotaMicros: 150_000, PeriodMicros: 100_000, CPUs: 1.5, CPUsFrom: "/up/cpu.cfs_quota_us"}, "only 1.5 of the 2 requested CPUs are available, /up/cpu.cfs_quota_us"},
		{"memory above", finding.Arm{Memory: 64 * mib},
			cgrun.Confinement{Way: cgrun.WayV2, LimitBytes: 64 * mib, MemoryBytes: 32 * mib, MemoryFrom: "/up/memory.max"}, "only 33554432 of the 67108864 requested bytes of memory are available, /up/memory.max"},
		{"memory above where none was asked for", finding.Arm{},
			cgrun.Confinement{Way: cgrun.WayV2, LimitBytes: 64 * mib, MemoryBytes: 32 * mib}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := enforced(test.arm, test.held)
			if test.want == "" && err == nil {
				return
			}
			var limit *limitError
			if !errors.As(err, &limit) || limit.What != test.want || limit.Hint() == "" {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestResident: what the kernel counted until the end goes before what was seen.
func TestResident(t *testing.T) {
	const mib = 1 << 20
	for counted, want := range map[int64]int64{50 * mib: 50 * mib, 0: 3 * mib} {
		p := process{exit: cgrun.Exit{MaxRSSBytes: counted}, largest: new(int64(3 * mib))}
		if got := p.rss(); got == nil || *got != want {
			t.Errorf("counted %d: %v, want %d", counted, got, want)
		}
	}
	if got := new(process).rss(); got != nil {
		t.Errorf("unknown: %d", *got)
	}
}

func TestUnanswered(t *testing.T) {
	r := Runner{Window: time.Second}
	for i, step := range []struct {
		ops, errors int64
		fatal       bool
	}{
		{0, 5, true}, {0, 0, true}, {7, 0, false}, {0, 5, false}, {0, 0, true},
	} {
		err := r.unanswered(&finding.Run{Ops: step.ops, Errors: step.errors}, "it", "http://x/")
		if (err != nil) != step.fatal {
			t.Errorf("run %d with %d answers and %d failures: error %v", i+1, step.ops, step.errors, err)
		}
	}
}

func TestTraced(t *testing.T) {
	before := workload.Traced{Cycles: 2, Procs: 4}
	tests := []struct {
		name          string
		before, after *workload.Traced
		cycles        *uint64
		stw           bool
	}{
		{"not looked for", nil, nil, nil, false},
		{"no collection ever", new(workload.Traced), new(workload.Traced), nil, false},
		{"none in the window", &before, new(workload.Traced), new(uint64(0)), true},
		{"some", &before, &workload.Traced{Cycles: 3, STW: 0.1, Procs: 4}, new(uint64(3)), true},
		{"a line was torn", &before, &workload.Traced{Cycles: 3, Missed: 1, STW: 0.1, Procs: 4}, new(uint64(4)), false},
		{"children write, too", &before, &workload.Traced{Cycles: 3, Mixed: true, Procs: 4}, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var run finding.Run
			traced(&run, test.before, test.after)
			if (run.GCs == nil) != (test.cycles == nil) || run.GCs != nil && *run.GCs != *test.cycles {
				t.Errorf("%v cycles, want %v", run.GCs, test.cycles)
			}
			if (run.STW != nil) != test.stw || (run.STWMax != nil) != test.stw {
				t.Errorf("stops %v, %v", run.STW, run.STWMax)
			}
		})
	}
}
