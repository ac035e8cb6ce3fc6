// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestSweep: a new test removes the leftovers of a killed test.
func TestSweep(t *testing.T) {
	gate.Root(t, "engines")
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	l := &lab{name: prefix + fmt.Sprint(gone.Process.Pid)}
	dir := filepath.Join(os.TempDir(), l.name)
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	line := enter(l.group(t, "a/b", 0, 0), "/bin/sh", "-c", "echo entered; exec sleep 600")
	left := exec.Command(line[0], line[1:]...)
	out, err := left.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	// On its way into the groups it is in some of them only, and sweep would not meet it in the others.
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	sweep(t)
	<-ended
	for _, path := range []string{dir, filepath.Join(cgroupRoot, "cpu", l.name), filepath.Join(cgroupRoot, "memory", l.name)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s still exists: %v", path, err)
		}
	}
}
