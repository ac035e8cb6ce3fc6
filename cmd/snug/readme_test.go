// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReadme runs every "$ snug ..." of README.md's console blocks in the
// repository's root and compares the output. Commands that make cgroups
// run only with SNUG_E2E=root.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "snug"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ran := 0
	blocks := strings.Split(string(text), "```console\n")
	for _, block := range blocks[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			if strings.Contains(command, "snug run --memory") && !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
				t.Logf("set SNUG_E2E=root to run: %s", command)
				continue
			}
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GOMAXPROCS=", "GOMEMLIMIT=", "GOGC=")
			got, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if lint := strings.HasPrefix(command, "snug lint "); lint != (errors.As(err, &exit) && exit.ExitCode() == 3) || !lint && err != nil {
				t.Errorf("$ %s\n%v; want exit code 3 of snug lint and 0 of others", command, err)
			}
			if strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
				t.Errorf("$ %s\nprints\n%s\nand README.md says\n%s", command, got, want)
			}
			ran++
		}
	}
	if ran == 0 {
		t.Error("README.md has no console block that can be run")
	}
}
