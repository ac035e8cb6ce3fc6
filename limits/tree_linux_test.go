// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeHoldsNobodyUp reads a pipe that nobody writes to, as somebody may
// have mounted over a file of his cgroup.
func TestPipeHoldsNobodyUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cpu.max")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := m.read(name, make([]byte, 0, 64), false); len(text) > 0 {
		t.Errorf("read %q", text)
	}
	f, err := m.open(name)
	if err != nil {
		return
	}
	defer f.shut()
	if n, _ := f.readAt(make([]byte, 64), 0); n > 0 {
		t.Errorf("read %d bytes", n)
	}
}
