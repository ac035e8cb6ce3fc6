// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// payload is the directory of programs built for the guests, shared by all tests.
var payload string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "snug-vm-")
	if err != nil {
		log.Fatal(err)
	}
	payload = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// guestPath returns the path of a program in the guest.
func guestPath(name string) string { return path.Join("/bin", name) }

// files builds the programs and the tool, and maps guest paths to the built files.
func files(t *testing.T, all []programs.Program) map[string]string {
	t.Helper()
	m := map[string]string{}
	for name, host := range programs.Build(t, payload, all) {
		m[guestPath(name)] = host
	}
	return m
}

// program builds a main package, with flags before it, as a static program.
func program(t *testing.T, what ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append([]string{"build", "-o", to}, what...)...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", what, err, out)
	}
	return to
}

// testBinary builds the tests of the package in dir as a static program for an architecture.
func testBinary(t *testing.T, dir, arch string) string {
	t.Helper()
	return buildTests(t, dir, []string{"CGO_ENABLED=0", "GOARCH=" + arch}, "-ldflags=-s -w")
}

// raceBinary is testBinary for this architecture with the race detector, which is C++ and needs the
// C linker for a static program.
func raceBinary(t *testing.T, dir, toolchain string) string {
	t.Helper()
	env := []string{"CGO_ENABLED=1", "GOTOOLCHAIN=" + toolchain, "GOWORK=off"}
	return buildTests(t, dir, env, "-race", "-ldflags=-s -w -linkmode external -extldflags=-static")
}

func buildTests(t *testing.T, dir string, env []string, flags ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "test")
	cmd := exec.Command("go", slices.Concat([]string{"test", "-c", "-o", to}, flags, []string{"."})...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v\n%s", dir, err, out)
	}
	return to
}

var (
	passed  = regexp.MustCompile(`(?m)^--- PASS: `)
	slow    = regexp.MustCompile(`(?m)^--- PASS: .*\([1-9]\d*\.\d+s\)$`)
	skipped = regexp.MustCompile(`(?m)^\s*--- SKIP: .*\n.*`)
)

// TestOwnTestsOnV2 runs the tests that read or make real cgroups on cgroup v2, because the
// development machines have v1. A skipped test is a failure here.
func TestOwnTestsOnV2(t *testing.T) {
	gate.Need(t, "vm")
	root := programs.Root(t)
	limits := testBinary(t, filepath.Join(root, "limits"), "amd64")
	cgrun := testBinary(t, filepath.Join(root, "cmd/snug/internal/prove/cgrun"), "amd64")
	sense := testBinary(t, filepath.Join(root, "internal/sense"), "amd64")
	follow := testBinary(t, filepath.Join(root, "internal/follow"), "amd64")
	inside := map[string]map[string]string{
		"/outer":       {"cpu.max": "200000 100000", "memory.max": "536870912"},
		"/outer/inner": {"cpu.max": "max 100000", "memory.high": "419430400"},
	}
	// In the root group it may make groups; elsewhere it only reads. The oracle's worlds do not
	// depend on the machine, and take longest on emulated CPUs.
	making := []string{"/src/limits/test", "-test.v", "-test.skip=^TestOracle"}
	reading := []string{"/src/limits/test", "-test.v", "-test.skip=^(TestRealCgroups$|TestOracle)"}
	user := []string{"/src/limits/test", "-test.v", "-test.skip=^(TestRealCgroups$|TestOracle|TestAnotherPIDNamespace$|TestUncountedFilters$)"} // they need root
	steps := []vm.Step{
		{Name: "limits in the root group", Args: making, Env: []string{"SNUG_E2E=root"}, Dir: "/src/limits", Seconds: 300},
		{Name: "limits in a group", Cgroup: inside, In: []string{"/outer/inner"}, Args: user, Dir: "/src/limits", Uid: 65532, Seconds: 300},
		{Name: "limits in a namespace", Cgroup: inside, In: []string{"/outer/inner"}, Private: true, Args: reading, Dir: "/src/limits", Seconds: 300},
		{Name: "sense", Args: []string{"/src/sense/test", "-test.v"}, Dir: "/src/sense", Seconds: 300},
		{Name: "follow", Args: []string{"/src/follow/test", "-test.v"}, Env: []string{"SNUG_E2E=root"}, Dir: "/src/follow", Seconds: 300},
		{Name: "cgrun", Args: []string{"/src/cgrun/test", "-test.v", "-test.timeout=8m"}, Env: []string{"SNUG_E2E=root", "PATH=/bin"}, Dir: "/src/cgrun", Seconds: 600},
	}
	files := map[string]string{
		"/src/testdata":    filepath.Join(root, "testdata"),
		"/testdata":        filepath.Join(root, "testdata"), // cgrun's tests expect it four levels up
		"/src/limits/test": limits,
		"/src/cgrun/test":  cgrun,
		"/src/sense/test":  sense,
		"/src/follow/test": follow,
	}
	for _, r := range vm.Run(t, vm.Spec{Kind: v2, Files: files, Steps: steps}) {
		t.Run(r.Name, func(t *testing.T) { allPassed(t, r) })
	}
}

// TestRacesOnV2 runs the library's tests with the race detector on real groups, with the oldest and
// the newest Go that it supports.
func TestRacesOnV2(t *testing.T) {
	gate.Need(t, "machines")
	root := programs.Root(t)
	spec := vm.Spec{Kind: v2, Files: map[string]string{}}
	for _, toolchain := range []string{"go1.23.12", "go1.27.3"} {
		for _, c := range []struct{ dir, run string }{
			{"limits", "^TestRealCgroups$"},
			{"internal/follow", "^TestFollowsALiveGroup$"},
			{"internal/sense", "^TestKernelWait$|^TestThreads"},
			{"adapt", "^TestWatch|^TestCurrent$|^TestRunningStats"},
			{".", "^TestConcurrentFits$|^TestWatch(FromManySides|Undo|LeavesTheLastValues|GivesUpWhatTheProgramSets)$|^TestADryWatch|^TestALaterWatch"},
		} {
			to := path.Join("/race", c.dir, toolchain)
			spec.Files[to] = raceBinary(t, filepath.Join(root, c.dir), toolchain)
			spec.Steps = append(spec.Steps, vm.Step{Name: c.dir + " " + toolchain, Args: []string{to, "-test.v", "-test.run=" + c.run},
				Dir: path.Dir(to), Env: []string{"SNUG_E2E=root", "PATH=/bin"}, Seconds: 300})
		}
	}
	for _, r := range vm.Run(t, spec) {
		t.Run(r.Name, func(t *testing.T) { allPassed(t, r) })
	}
}

// allPassed checks the output of a test binary run with -test.v.
func allPassed(t *testing.T, r vm.Result) {
	t.Helper()
	if r.Err != "" || r.Exit != 0 || r.Signal != "" {
		t.Errorf("%s exit code %d, signal %q\nstdout:\n%s\nstderr:\n%s", r.Err, r.Exit, r.Signal, failures(r.Stdout), r.Stderr)
	}
	if n := len(passed.FindAllString(r.Stdout, -1)); n == 0 {
		t.Errorf("no test ran: %s", r.Stdout)
	}
	if testing.Verbose() {
		t.Logf("slower than a second:\n%s", strings.Join(slow.FindAllString(r.Stdout, -1), "\n"))
	}
	for _, s := range skipped.FindAllString(r.Stdout, -1) {
		t.Errorf("skipped: %s", s)
	}
}

// failures removes the lines of tests that passed.
func failures(stdout string) string {
	var b strings.Builder
	for line := range strings.Lines(stdout) {
		text := strings.TrimSpace(line)
		if !strings.HasPrefix(text, "--- PASS") && !strings.HasPrefix(text, "=== ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
