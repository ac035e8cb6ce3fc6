// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
)

// row is what snug ps --json says of a process; null is none, or unknown.
type row struct {
	PID        int     `json:"pid"`
	Exe        string  `json:"exe"`
	GoVersion  string  `json:"go_version"`
	GOMAXPROCS int     `json:"gomaxprocs"`
	Source     *string `json:"gomaxprocs_source"`
	GOMEMLIMIT *int64  `json:"gomemlimit_bytes"`
	GOGC       any     `json:"gogc_percent"` // a number or "off"
	Live       uint64  `json:"live_heap_bytes"`
	Goal       *uint64 `json:"heap_goal_bytes"`
	Cycles     uint32  `json:"collections"`
	Memory     int64   `json:"memory_bytes"`
	Unknown    []struct {
		Field, Why string
	}
}

// sources are the words for who set GOMAXPROCS.
var sources = map[By]string{ByEnvironment: "environment", ByCode: "code", ByRuntime: "runtime", ByHostCPUs: "host"}

// runTool runs a command of the tool, SNUG_TOOL, and reads its answer into d.
func runTool(t *testing.T, d any, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Getenv("SNUG_TOOL"), append(args, "--json")...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("snug %q: %v\n%s%s", args, err, out, exit.Stderr)
	}
	if err == nil {
		err = json.Unmarshal(bytes.ReplaceAll(out, []byte(`:"none"`), []byte(":null")), d)
	}
	if err != nil {
		t.Fatalf("snug %q: %v\n%s", args, err, out)
	}
}

// toolAgrees compares what the tool says of a process with what that says itself.
func toolAgrees(t *testing.T, target *child, path string, want truth, by By) {
	t.Helper()
	var d struct{ Processes []row }
	runTool(t, &d, "ps", strconv.Itoa(target.cmd.Process.Pid))
	if len(d.Processes) != 1 {
		t.Fatalf("%d processes", len(d.Processes))
	}
	r := d.Processes[0]
	if r.PID != target.cmd.Process.Pid || r.Exe != path || r.GoVersion != want.Version || r.GOMAXPROCS != want.Procs || r.Cycles != want.Collections || r.Memory < 1<<19 {
		t.Errorf("snug ps: %+v, want %+v", r, want)
	}
	if want.Percent != nil {
		percent := any(float64(*want.Percent))
		if int32(*want.Percent) < 0 {
			percent = "off"
		}
		if r.GOGC != percent {
			t.Errorf("snug ps: GOGC %v, want %v", r.GOGC, percent)
		}
	}
	if want.Limit != nil {
		if none := *want.Limit == math.MaxInt64; none != (r.GOMEMLIMIT == nil) || !none && *r.GOMEMLIMIT != *want.Limit {
			t.Errorf("snug ps: GOMEMLIMIT %v, want %d", r.GOMEMLIMIT, *want.Limit)
		}
	}
	if want.Marked != nil && r.Live != *want.Marked {
		t.Errorf("snug ps: live heap %d, want %d", r.Live, *want.Marked)
	}
	if noGoal(want) != (r.Goal == nil) || r.Goal != nil && *r.Goal != want.Goal {
		t.Errorf("snug ps: heap goal %v, want %d", r.Goal, want.Goal)
	}
	switch {
	case by == ByUnknown:
		if r.Source != nil || len(r.Unknown) != 1 || r.Unknown[0].Field != "gomaxprocs_source" || r.Unknown[0].Why == "" {
			t.Errorf("snug ps: GOMAXPROCS set by %v, unknown %+v", r.Source, r.Unknown)
		}
	case r.Source == nil || *r.Source != sources[by] || len(r.Unknown) != 0:
		t.Errorf("snug ps: GOMAXPROCS set by %v, want %q; unknown %+v", r.Source, sources[by], r.Unknown)
	}
}

// TestTool has the tool watch and sample programs of other Go releases while
// they work.
func TestTool(t *testing.T) {
	if os.Getenv("SNUG_TOOL") == "" {
		t.Skip("set SNUG_TOOL to the tool's file, and SNUG_GO_PROGRAMS to the programs")
	}
	eachBuild(t, false, func(t *testing.T, r release, l linked) {
		target := startTarget(t, exec.Command(r.kept(os.Getenv("SNUG_GO_PROGRAMS"), l)), "GOMAXPROCS=3")
		target.ask("burn")
		pid := strconv.Itoa(target.cmd.Process.Pid)

		t.Run("doctor", func(t *testing.T) {
			var d struct {
				Targets []struct {
					Go    string `json:"go_version"`
					Facts []struct {
						What, Source string
						Value        float64
					}
				}
			}
			runTool(t, &d, "doctor", pid, "--duration", "3s", "--fail-on", "never")
			if len(d.Targets) != 1 || d.Targets[0].Go != "go"+r.version {
				t.Fatalf("%+v", d)
			}
			seen := map[string]float64{}
			for _, f := range d.Targets[0].Facts {
				seen[f.What] = f.Value
				t.Logf("%s: %v (%s)", f.What, f.Value, f.Source)
			}
			// Two of three Ps are at work all the time, whatever CPU time they get.
			if seen["GOMAXPROCS"] != 3 || seen["watched for"] < 1 || !(seen["CPU used"] > 0) || !(seen["Ps not idle"] > 1) {
				t.Errorf("%v", seen)
			}
		})
		t.Run("profile", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cpu.pprof")
			var d map[string]any
			runTool(t, &d, "profile", pid, "--duration", "3s", "-o", file)
			in, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			p, err := profile.Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			own, all := int64(0), int64(0)
			for _, s := range p.Sample {
				all += s.Value[0]
				if calls(s, "main.burn") {
					own += s.Value[0]
				}
			}
			t.Logf("%d of %d samples in main.burn", own, all)
			if own == 0 || own < all/2 {
				t.Errorf("%d of %d samples in main.burn; %v", own, all, d)
			}
		})
	})
}

// calls reports whether a function is on the sample's stack: it may have been in
// the kernel, for an interrupt.
func calls(s *profile.Sample, function string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function.Name == function {
				return true
			}
		}
	}
	return false
}
