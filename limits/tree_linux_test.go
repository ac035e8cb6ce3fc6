// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/snug-go/snug/internal/cgroup"
)

// TestGroup: a directory is a group when it is on the mount's device and has a cgroup.procs.
// The mount of a group that was removed is on that device, and empty.
func TestGroup(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	here := &cgroup.Mount{Major: uint32(st.Dev>>8) & 0xfff, Minor: uint32(st.Dev&0xff | st.Dev>>12&^0xff)} // makedev(3)
	elsewhere := &cgroup.Mount{Major: here.Major, Minor: here.Minor + 1}
	expect := func(dir string, at *cgroup.Mount, want error) {
		t.Helper()
		if err := m.group(dir, at); err != want {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	expect(dir+"/missing", here, errNoDirectory)
	expect(dir, here, errNoProcs)
	expect(dir, elsewhere, errCovered)
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(dir, here, nil)
	expect(dir, elsewhere, errCovered)
	expect(dir+"/cgroup.procs", here, errNoDirectory)
}

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
