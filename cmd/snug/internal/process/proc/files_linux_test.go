// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFilesOf: pages of a file that is only data are no code, and what is not readable falls back to the executable's size.
func TestFilesOf(t *testing.T) {
	before, code := FilesOf(os.Getpid())
	if code <= 0 || code > before {
		t.Fatalf("%d bytes of files, %d of code", before, code)
	}
	const size = 64 << 20
	f, err := os.Create(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(data)
	sum := byte(0)
	for i := 0; i < size; i += 4096 {
		sum += data[i]
	}
	after, now := FilesOf(os.Getpid())
	if after < before+size/2 || now > before+size/4 || sum != 0 {
		t.Errorf("%d bytes of files, before %d; code %d, before %d", after, before, now, code)
	}
	if files, code := FilesOf(1 << 30); files+code != 0 {
		t.Errorf("no such process: %d, %d", files, code)
	}
	if n, err := present(filepath.Join(t.TempDir(), "none"), nil); err == nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}
