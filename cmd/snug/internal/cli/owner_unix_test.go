// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestLintFixOwner checks that a fixed file keeps its owner.
func TestLintFixOwner(t *testing.T) {
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") {
		t.Skip("set SNUG_E2E=root to give files away")
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.yaml": fixMe})
	t.Chdir(dir)
	if err := os.Chown("a.yaml", 12345, 12346); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("a.yaml", 0o664); err != nil {
		t.Fatal(err)
	}
	if d, _, talk := lintIn(t, dir, "--fix", "a.yaml"); len(d.Findings) != 1 || !d.Findings[0].Fixed {
		t.Fatal(talk)
	}
	info, err := os.Stat("a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 12345 || s.Gid != 12346 || info.Mode().Perm() != 0o664 {
		t.Errorf("%d:%d %v", s.Uid, s.Gid, info.Mode())
	}
}
