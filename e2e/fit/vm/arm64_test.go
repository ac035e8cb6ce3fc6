// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"cmp"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// TestArm64 runs the tests of goproc on an arm64 machine, with programs that are built here: snug
// reads programs, and the results must equal what the programs print of themselves.
//
// SNUG_GO_RELEASES and SNUG_GO_BUILDS choose the programs, as in goproc's tests. Programs linked
// with C need a C compiler for arm64, SNUG_GO_CC.
func TestArm64(t *testing.T) {
	gate.Need(t, "machines")
	const arch = "arm64"
	root := programs.Root(t)
	goproc := filepath.Join(root, "cmd/snug/internal/process/goproc")
	releases := strings.Fields(cmp.Or(os.Getenv("SNUG_GO_RELEASES"), "1.21.13 1.27.3"))
	builds := cmp.Or(os.Getenv("SNUG_GO_BUILDS"), "pie stripped,exe")
	dir := t.TempDir()

	build := exec.Command("go", "test", "-count=1", "-run", "^TestBuildReleases$", ".")
	build.Dir = goproc
	build.Env = append(build.Environ(), "SNUG_GO_ARCH="+arch, "SNUG_GO_PROGRAMS="+dir,
		"SNUG_GO_RELEASES="+strings.Join(releases, " "), "SNUG_GO_BUILDS="+builds)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}
	files := map[string]string{
		"/programs":        dir,
		"/src/goproc/test": testBinary(t, goproc, arch),
		guestPath("snug"):  programs.BuildToolFor(t, arch),
	}
	// The C library's loader loads programs that are linked as PIE or with C.
	for _, name := range []string{"ld-linux-aarch64.so.1", "libc.so.6"} {
		file, err := filepath.EvalSymlinks(filepath.Join("/usr/aarch64-linux-gnu/lib", name))
		if err != nil {
			t.Fatalf("%v: install the Debian packages of e2e/packages.txt", err)
		}
		files[path.Join("/lib", name)] = file
	}

	step := func(name, test string, env ...string) vm.Step {
		return vm.Step{
			Name: name,
			Args: []string{"/src/goproc/test", "-test.v", "-test.run", test, "-test.timeout=2h"},
			Env:  append(env, "SNUG_E2E=go", "SNUG_GO_PROGRAMS=/programs", "SNUG_TOOL="+guestPath("snug")),
			Dir:  "/src/goproc", Seconds: 7200, // many programs, on a host that may be busy
		}
	}
	var steps []vm.Step
	for _, version := range releases {
		steps = append(steps, step("go"+version, "^TestGoReleases$", "SNUG_GO_RELEASES="+version, "SNUG_GO_BUILDS="+builds))
	}
	one, _, _ := strings.Cut(builds, ",")
	steps = append(steps, step("doctor and profile", "^TestTool$", "SNUG_GO_RELEASES="+strings.Join(releases, " "), "SNUG_GO_BUILDS="+one))
	for _, r := range vm.Run(t, vm.Spec{Kind: vm.Kind{Arch: arch, CPUs: 4}, Files: files, Steps: steps}) {
		t.Run(r.Name, func(t *testing.T) {
			allPassed(t, r)
			if !t.Failed() {
				t.Logf("\n%s", r.Stdout)
			}
		})
	}
}
