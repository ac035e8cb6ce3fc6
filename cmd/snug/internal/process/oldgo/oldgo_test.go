// SPDX-License-Identifier: Apache-2.0

package oldgo

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTool has two releases say which they are: one that is copied, one that is chosen.
func TestTool(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "go") {
		t.Skip("set SNUG_E2E=go to fetch other Go releases")
	}
	for _, version := range []string{"1.18.10", "1.21.13"} {
		file, env := Tool(t, version)
		cmd := exec.Command(file, "version")
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if want := "go version go" + version + " "; err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%v, %q, want %q", err, out, want)
		}
	}
}
