// SPDX-License-Identifier: Apache-2.0

//go:build unix

package envfiles

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe checks that a pipe without a writer does not block.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "Dockerfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, skipped := Scan(t.Context(), dir, true); len(found) != 0 || len(skipped) != 1 || skipped[0].Why != "not a regular file" {
		t.Errorf("%v, %v", found, skipped)
	}
}
