// SPDX-License-Identifier: Apache-2.0

// Package engines starts containers with common engines, as Debian ships them, in the layouts of
// cgroup mounts that occur there. It compares what readers report inside with what the kernel does:
// how much CPU time busy threads get, and at how much memory a process is killed.
package engines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// prefix starts the names of all groups and containers of these tests, before the process id of the
// test.
const prefix = "snug-engines-"

// hierarchies lists the hierarchies with groups of the test, below the root of each: docker and
// podman use one path for all.
var hierarchies = []string{"cpu", "memory"}

const cgroupRoot = "/sys/fs/cgroup"

// hang bounds every wait.
const hang = 4 * time.Minute

// lab holds what the containers of a test share.
type lab struct {
	name   string // of the groups that contain everything
	dir    string
	bin    string // directory of the programs: snug, inmate, sizers
	docker *docker
	count  int // number of containers
}

// next returns the name and the directory of a new container.
func (l *lab) next() (name, dir string) {
	l.count++
	return fmt.Sprintf("%s-%d", l.name, l.count), filepath.Join(l.dir, strconv.Itoa(l.count))
}

// newLab builds the programs and removes the leftovers of killed tests.
func newLab(t *testing.T) *lab {
	t.Helper()
	gate.Root(t, "engines")
	l := &lab{name: prefix + strconv.Itoa(os.Getpid())}
	// The path must be short for podman and for sockets.
	l.dir = filepath.Join(os.TempDir(), l.name)
	for _, h := range hierarchies {
		if _, err := os.Stat(filepath.Join(cgroupRoot, h, "cgroup.procs")); err != nil {
			t.Fatalf("SNUG_E2E=engines needs cgroup v1: %v", err)
		}
	}
	sweep(t)
	t.Cleanup(func() {
		if err := remove(l.name); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(l.dir); err != nil {
			t.Error(err)
		}
	})
	l.bin = filepath.Join(l.dir, "bin")
	if err := os.MkdirAll(l.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	build(t, l.bin)
	return l
}

// build builds the programs into a directory.
func build(t *testing.T, dir string) {
	t.Helper()
	if err := programs.BuildTool(programs.Root(t), filepath.Join(dir, "snug")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inmate", "sizers"} {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", dir, "github.com/snug-go/snug/e2e/fit/engines/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
}

// group makes a group with limits in each hierarchy, below the test's own; 0 = none. It returns the
// path from the roots.
func (l *lab) group(t *testing.T, name string, cpu float64, mebibytes int) string {
	t.Helper()
	path := filepath.Join("/", l.name, name)
	for _, h := range hierarchies {
		if err := os.MkdirAll(filepath.Join(cgroupRoot, h, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	set := func(file string, value int) {
		if err := os.WriteFile(filepath.Join(cgroupRoot, file), []byte(strconv.Itoa(value)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if cpu > 0 {
		set(filepath.Join("cpu", path, "cpu.cfs_period_us"), 100000)
		set(filepath.Join("cpu", path, "cpu.cfs_quota_us"), int(cpu*100000))
	}
	if mebibytes > 0 {
		set(filepath.Join("memory", path, "memory.limit_in_bytes"), mebibytes<<20)
	}
	return path
}

// enter returns a command line that enters a group and becomes args.
func enter(path string, args ...string) []string {
	var script strings.Builder
	for _, h := range hierarchies {
		fmt.Fprintf(&script, "echo $$ >'%s'\n", filepath.Join(cgroupRoot, h, path, "cgroup.procs"))
	}
	script.WriteString(`exec "$@"`)
	return append([]string{"/bin/sh", "-ec", script.String(), "sh"}, args...)
}

// sweep ends and removes the leftovers of killed tests.
func sweep(t *testing.T) {
	t.Helper()
	groups, err := filepath.Glob(filepath.Join(cgroupRoot, "*", prefix+"*"))
	files, err2 := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(groups, files...) {
		name := filepath.Base(path)
		if _, err := os.Stat(filepath.Join("/proc", strings.TrimPrefix(name, prefix))); err == nil {
			continue
		}
		if err := errors.Join(remove(name), os.RemoveAll(filepath.Join(os.TempDir(), name))); err != nil {
			t.Fatalf("left by an earlier test: %v", err)
		}
	}
}

// remove kills all processes in the groups with this name, in every hierarchy, and removes the
// groups.
func remove(name string) error {
	all, err := filepath.Glob(filepath.Join(cgroupRoot, "*", name))
	if err != nil {
		return err
	}
	var dirs []string
	for _, top := range all {
		err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, pid := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(pid)
			if err != nil || n == os.Getpid() || n <= 1 {
				return fmt.Errorf("%s holds process %s", dir, pid)
			}
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	return cgv1.Remove(dirs)
}
