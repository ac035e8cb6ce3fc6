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

// alone is the variable that tells that the mounts are this test's own.
const alone = "AGENT_TEST_ALONE"

// TestMain keeps what these tests mount from other tests at the same time: a second tree of
// cgroups is as good as the first to whoever looks for one, until it is gone again.
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

// shared is where programs are that more than one test starts.
var shared string

// once makes a file of shared, if that is not done yet.
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
