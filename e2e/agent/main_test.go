// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"os/exec"
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
	os.Exit(m.Run())
}
