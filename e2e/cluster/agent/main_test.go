// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// alone is the variable that marks a process with its own mount namespace.
const alone = "AGENT_TEST_ALONE"

// TestMain runs the tests in their own mount namespace, so that concurrent tests do not find
// the second cgroup tree that these tests mount.
func TestMain(m *testing.M) {
	if os.Getuid() == 0 && os.Getenv(alone) == "" && strings.Contains(os.Getenv("SNUG_E2E"), "root") {
		if path, err := exec.LookPath("unshare"); err == nil {
			args := append([]string{"unshare", "--mount", "--propagation", "private"}, os.Args...)
			_ = syscall.Exec(path, args, append(os.Environ(), alone+"=1"))
		}
	}
	var err error
	if shared, err = os.MkdirTemp("", "e2e-agent-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(shared)
	os.Exit(code)
}

// shared is the directory of programs that several tests use.
var shared string

// once makes a file in shared, if it does not exist.
func once(t *testing.T, name string, make func(file string) error) string {
	t.Helper()
	file := filepath.Join(shared, name)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if err := make(file); err != nil {
		t.Fatal(err)
	}
	return file
}
