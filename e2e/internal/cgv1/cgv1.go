// SPDX-License-Identifier: Apache-2.0

// Package cgv1 makes cgroup v1 groups for tests, below the test's own groups,
// and removes them when the test ends.
package cgv1

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// prefix starts the names of this package's groups. It must differ from the prefixes of snug's own
// groups, because snug's tests count those.
const prefix = "e2e-native-"

// Base is a directory for groups in each of several hierarchies.
type Base struct {
	// Name is the directory of a test's groups in every hierarchy.
	Name string
	// dirs maps a controller to the directory of this process's group in its hierarchy.
	dirs map[string]string
}

// New finds the hierarchies of the controllers. It fails the test if one is not mounted as v1.
func New(t testing.TB, controllers ...string) *Base {
	t.Helper()
	b := &Base{Name: prefix + strconv.Itoa(os.Getpid()), dirs: map[string]string{}}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		for c := range strings.SplitSeq(fields[1], ",") {
			if slices.Contains(controllers, c) {
				b.dirs[c] = filepath.Join("/sys/fs/cgroup", fields[1], fields[2])
			}
		}
	}
	for _, c := range controllers {
		dir, ok := b.dirs[c]
		if !ok {
			t.Fatalf("controller %s has no v1 hierarchy on this machine", c)
		}
		if err := sweep(dir); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Dir returns the directory of the test's groups for a controller.
func (b *Base) Dir(controller string) string { return filepath.Join(b.dirs[controller], b.Name) }

// Read returns the content of a file of this process's own group.
func (b *Base) Read(t testing.TB, controller, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dirs[controller], file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Make makes the groups of each controller (path below the base -> file -> text), outermost first,
// and removes them when the test ends.
func (b *Base) Make(t testing.TB, groups map[string]map[string]map[string]string) {
	t.Helper()
	var made []string
	t.Cleanup(func() {
		if err := Remove(made); err != nil {
			t.Error(err)
		}
	})
	for c, paths := range groups {
		files := map[string]string{}
		if c == "cpuset" {
			// No process can enter a cpuset without both.
			files["cpuset.cpus"], files["cpuset.mems"] = b.Read(t, c, "cpuset.cpus"), b.Read(t, c, "cpuset.mems")
		}
		all := map[string]map[string]string{"/": files}
		maps.Copy(all, paths)
		for _, path := range slices.Sorted(maps.Keys(all)) {
			dir := filepath.Join(b.Dir(c), path)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			made = append(made, dir)
			for _, name := range slices.Sorted(maps.Keys(all[path])) {
				set(t, filepath.Join(dir, name), all[path][name])
			}
		}
	}
}

// set writes a file and checks that the kernel accepted the value.
func set(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0); err != nil {
		t.Fatalf("write %q: %v", text, err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != text {
		t.Fatalf("%s: wrote %q, the kernel reports %q", file, text, got)
	}
}

// Command returns a command that runs args in the group at path in every hierarchy of the base,
// from its first instruction. The caller sets its environment.
func (b *Base) Command(t testing.TB, path string, args ...string) *exec.Cmd {
	t.Helper()
	script := []string{"set -e"}
	for _, c := range slices.Sorted(maps.Keys(b.dirs)) {
		script = append(script, fmt.Sprintf("echo $$ >'%s'", filepath.Join(b.Dir(c), path, "cgroup.procs")))
	}
	script = append(script, `exec "$@"`)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", strings.Join(script, "\n"), "sh"}, args...)...)
	cmd.Env = []string{}
	// Kill the whole process group: the cgroup can be removed only when it is empty.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Below returns the groups below path in all hierarchies.
func (b *Base) Below(t testing.TB, path string) []string {
	t.Helper()
	var found []string
	for c := range b.dirs {
		entries, err := os.ReadDir(filepath.Join(b.Dir(c), path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				found = append(found, filepath.Join(b.Dir(c), path, e.Name()))
			}
		}
	}
	return found
}

// Remove removes groups, last first. A process that has ended takes a moment to leave its group,
// longer on a busy machine.
func Remove(dirs []string) error {
	var errs []error
	end := time.Now().Add(2 * time.Minute)
	for _, dir := range slices.Backward(dirs) {
		err := syscall.Rmdir(dir)
		for err == syscall.EBUSY && time.Now().Before(end) {
			time.Sleep(10 * time.Millisecond)
			err = syscall.Rmdir(dir)
		}
		// Another clone may remove the same leftovers.
		if err != nil && err != syscall.ENOENT {
			errs = append(errs, fmt.Errorf("remove %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// sweep removes empty groups of killed tests. A group with processes cannot be removed, so it is
// safe if a pid is in use again.
func sweep(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return err
	}
	for _, base := range old {
		pid := strings.TrimPrefix(filepath.Base(base), prefix)
		if _, err := os.Stat(filepath.Join("/proc", pid)); err == nil {
			continue
		}
		var dirs []string
		err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := Remove(dirs); err != nil {
			return fmt.Errorf("left by an earlier test: %w", err)
		}
	}
	return nil
}
