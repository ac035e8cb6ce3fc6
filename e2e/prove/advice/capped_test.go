// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCapped: of a program with automaxprocs, every setting that was asked for is run with the Ps that it names, and
// the row "snug" has what snug run gives the program in the same container.
func TestCapped(t *testing.T) {
	b := run(t, "capped", "--memory", "128MiB", "--rounds", "8", "--warmup", "200ms", "--window", "500ms",
		"--set", "GOMAXPROCS=1", "--set", "GOMAXPROCS=2", "--set", "GOMAXPROCS=2,GOGC=400", "--set", "GOMAXPROCS=3")
	asked := map[string]bool{"1": false, "2": false, "2 400": false, "3": false}
	var snug cell
	for _, c := range b.Cells {
		name := fmt.Sprint(value(c.Procs))
		if c.GOGC != nil {
			name += fmt.Sprint(" ", c.GOGC)
		}
		if _, ok := asked[name]; ok && c.Memory == nil {
			asked[name] = true
		}
		want := value(c.Procs)
		if slices.Contains(c.Labels, "default") {
			want = 1 // automaxprocs
		}
		if want != 0 && value(c.Effective) != want {
			t.Errorf("%v was to have %d Ps and had %d", c.Labels, want, value(c.Effective))
		}
		if slices.Contains(c.Labels, "snug") {
			snug = c
		}
	}
	for name, run := range asked {
		if !run {
			t.Errorf("GOMAXPROCS and GOGC %s: not run", name)
		}
	}
	dir := t.TempDir()
	for name, source := range map[string]string{"snug": "../../../cmd/snug", "capped": "./capped"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(filepath.Join(dir, "snug"), "run", "--cpus", "1", "--memory", "128MiB", "--", filepath.Join(dir, "capped"), "-knobs")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(out)), fmt.Sprint(value(snug.Effective), " ", 120795956); got != want || value(snug.Procs) != 2 {
		t.Errorf("snug run gives %s, the row has %s, GOMAXPROCS=%d", got, want, value(snug.Procs))
	}
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
