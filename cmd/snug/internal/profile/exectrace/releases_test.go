// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/oldgo"
)

// TestGoReleases compares traces of other Go releases with the figures that the programs
// print.
func TestGoReleases(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "go") {
		t.Skip("set SNUG_E2E=go to fetch other Go releases and trace what they build")
	}
	formats := map[int]int{22: 22, 23: 23, 24: 23, 25: 25, 26: 26, 27: 26}
	for _, version := range []string{"1.22.12", "1.23.12", "1.24.13", "1.25.7", "1.26.8", "1.27.3"} {
		t.Run("go"+version, func(t *testing.T) {
			minor, err := strconv.Atoi(strings.Split(version, ".")[1])
			if err != nil {
				t.Fatal(err)
			}
			file := build(t, version, minor)
			name := filepath.Join(t.TempDir(), "trace")
			cmd := exec.Command(file, name)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=3")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var said struct {
				Collections int64
				GOMAXPROCS  int
				PauseNs     time.Duration `json:"pause_ns"`
			}
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s := read(t, data)
			if s.Format != formats[minor] || s.Partial != nil {
				t.Errorf("format %d, partial %v", s.Format, s.Partial)
			}
			if said.Collections == 0 || s.Wall.GCs < said.Collections || s.Wall.GCs > said.Collections+1 {
				t.Errorf("%d collections, the program says %d", s.Wall.GCs, said.Collections)
			}
			if len(s.Procs) != 1 || s.Procs[0].N != said.GOMAXPROCS {
				t.Errorf("GOMAXPROCS %v, the program says %d", s.Procs, said.GOMAXPROCS)
			}
			if s.Wall.Run < 500*time.Millisecond || s.Wall.GCStopped() < said.PauseNs*9/10 {
				t.Errorf("run %v, stopped for %v, the program says %v", s.Wall.Run, s.Wall.GCStopped(), said.PauseNs)
			}
			o, g := &s.Occupancy, &s.Goroutines
			if o.GC == nil || *o.GC <= 0 || *o.GC > .9 || o.Dedicated+o.Fractional <= 0 || o.MMU[2] == nil || len(o.Held) != 3 {
				t.Errorf("%+v", o)
			}
			if g.Created < 4 || g.Latency.Count < 100 || g.Latency.Quantiles[0] == nil || g.Blocked <= 0 || s.Heap.Peak == nil || s.Heap.GoalLast == nil {
				t.Errorf("%+v %+v", g, s.Heap)
			}
			t.Logf("%d bytes, %d events, %d collections; stopped %v, the program says %v; collector %.1f %%; latency P50 %v", s.Bytes, s.Events, s.Wall.GCs,
				s.Wall.GCStopped(), said.PauseNs, *o.GC*100, g.Latency.Quantiles[0])
		})
	}
}

// build builds the program with a release, without go.work.
func build(t *testing.T, version string, minor int) string {
	t.Helper()
	source, err := os.ReadFile("testdata/program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": string(source), "go.mod": "module program\n\ngo 1." + strconv.Itoa(minor) + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tool, env := oldgo.Tool(t, version)
	file := filepath.Join(dir, "program")
	cmd := exec.Command(tool, "build", "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}
