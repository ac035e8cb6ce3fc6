// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/fit/vm/wire"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/matrix"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// releases are the newest patch releases that build programs, with the first go line of snug's own
// programs where theirs is older.
var releases = []string{"go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.14", "go1.26.8", "go1.27.3"}

// A layout is a place of a group, which has a quota of 3 of 4 CPUs, and the first go line whose programs find
// it there, if their toolchain is as new.
type layout struct {
	name  string
	binds [][2]string
	since string
}

// only mounts the own group in the place of its tree.
func only(tree, group string) [][2]string {
	return [][2]string{{tree + group, "/mnt"}, {"", tree}, {"/mnt", tree}, {"", "/mnt"}}
}

// TestReleasesOnV2: the three readers of the CPU quota in real programs, on cgroup v2.
func TestReleasesOnV2(t *testing.T) {
	gate.Need(t, "machines")
	testReleases(t, v2, groups{"/d": {"cpu.max": "300000 100000"}}, "/d", []layout{
		{"the whole tree", nil, "1.25"},
		{"the own group for the tree", only("/sys/fs/cgroup", "/d"), "1.26"}, // as in Cloud Foundry's Garden
		{"a second mount behind the tree", [][2]string{{"/sys/fs/cgroup/d", "/mnt"}}, "1.26"},
		{"the own group over the tree", [][2]string{{"/sys/fs/cgroup/d", "/sys/fs/cgroup"}}, "never"},
	})
}

// TestReleasesOnV1 is the same on cgroup v1, where Docker and Kubernetes mount the own group.
func TestReleasesOnV1(t *testing.T) {
	gate.Need(t, "machines")
	kind := vm.Kind{CPUs: 4, Hierarchy: wire.V1}
	testReleases(t, kind, groups{"/cpu/d": {"cpu.cfs_quota_us": "300000"}}, "/cpu/d", []layout{
		{"the whole tree", nil, "1.25"},
		{"the own group for the tree", only("/sys/fs/cgroup/cpu", "/d"), "1.26"},
	})
}

// watched starts a program that waits, and then runs a command.
const watched = `package main

import (
	"bufio"
	"os"
	"os/exec"
)

func main() {
	cmd := exec.Command(os.Args[1], "wait")
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for s := bufio.NewScanner(out); s.Scan() && s.Text() != "waiting"; {
	}
	see := exec.Command(os.Args[2], os.Args[3:]...)
	see.Stdout, see.Stderr = os.Stdout, os.Stderr
	err := see.Run()
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil {
		panic(err)
	}
}
`

// testReleases runs the program of each release alone, by `snug run`, and with auto, and asks snug ps what has
// set its GOMAXPROCS.
func testReleases(t *testing.T, kind vm.Kind, made groups, in string, layouts []layout) {
	const quota, cpus = 3, 4
	var steps []vm.Step
	var want []int
	by := map[string]string{} // step -> what snug ps says
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(watched), 0o644); err != nil {
		t.Fatal(err)
	}
	var all []programs.Program
	for _, toolchain := range releases {
		line := strings.TrimPrefix(toolchain[:len("go1.21")], "go")
		alone := programs.Program{Toolchain: toolchain, Line: line, Kind: programs.Plain}
		with := programs.Program{Toolchain: toolchain, Line: line, Kind: programs.Auto}
		all = append(all, alone)
		if line >= "1.23" {
			all = append(all, with)
		}
		for _, l := range layouts {
			add := func(what string, procs int, args ...string) {
				steps = append(steps, vm.Step{Name: l.name + ", " + toolchain + ", " + what, Cgroup: made, In: []string{in}, Binds: l.binds, Args: args, Uid: 65532})
				want = append(want, procs)
			}
			byItself := cpus
			if line >= l.since {
				byItself = quota
			}
			add("alone", byItself, guestPath(alone.Name()))
			add("snug run", quota, guestPath("snug"), "run", "--", guestPath(alone.Name()))
			if line >= "1.24" {
				add("ps", byItself, guestPath("watched"), guestPath(alone.Name()), guestPath("snug"), "ps", "--json", alone.Name())
				last := &steps[len(steps)-1]
				if last.Uid, by[last.Name] = 0, "host"; byItself == quota {
					by[last.Name] = "runtime"
				}
			}
			if line >= "1.23" {
				add("auto", quota, guestPath(with.Name()))
			}
		}
	}
	payload := files(t, all)
	payload[guestPath("watched")] = program(t, source)
	for i, r := range vm.Run(t, vm.Spec{Kind: kind, Files: payload, Steps: steps}) {
		t.Run(r.Name, func(t *testing.T) {
			if r.Err != "" {
				t.Fatal(r.Err)
			}
			if by := by[r.Name]; by != "" {
				if want := fmt.Sprintf(`"gomaxprocs":%d,"gomaxprocs_source":%q`, want[i], by); !strings.Contains(r.Stdout, want) {
					t.Errorf("%s, want %s; %s", r.Stdout, want, r.Stderr)
				}
				return
			}
			report(t, r, want[i], matrix.Unset, "")
		})
	}
}
