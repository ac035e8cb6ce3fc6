// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/snug-go/snug/limits"
)

func init() {
	if status := os.Getenv("SNUG_TEST_STATUS"); status != "" {
		uncounted(status)
		os.Exit(0)
	}
}

// uncounted puts a file in place of its own status file, follows the limits, and prints what it sees.
func uncounted(status string) {
	before, _ := limits.Self()
	must(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	must(syscall.Mount(status, "/proc/self/status", "", syscall.MS_BIND, ""))
	for _, when := range []string{"first", "later"} {
		f, _ := limits.Follow()
		var l limits.Limits
		f.Read(&l)
		fmt.Println(when, reflect.DeepEqual(l.Gaps, before.Gaps), limits.Sealed(), limits.Uncounted())
	}
	h, _ := limits.Open(limits.Process{})
	l, _ := h.Read(0)
	again, _ := h.Read(limits.Detail) // its files were not opened
	fmt.Println(reflect.DeepEqual(l.Gaps, before.Gaps), len(again.Gaps) > len(before.Gaps))
}

// TestUncountedFilters: where Linux does not count seccomp filters, one that was in force from the start
// is no tightening. Each Follower and Handle opens files in its first Read, and none later.
func TestUncountedFilters(t *testing.T) {
	status := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(status, []byte("Name:\tapp\nSeccomp:\t2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "SNUG_TEST_STATUS="+status)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("needs a mount namespace")
	}
	if want := "first true false true\nlater true false true\ntrue true\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%swant\n%s", err, out, want)
	}
}
