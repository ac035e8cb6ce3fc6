// SPDX-License-Identifier: Apache-2.0

// Package oldgo provides other Go releases for tests, from the module proxy.
package oldgo

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// firstChosen is the first minor version that GOTOOLCHAIN can select.
const firstChosen = 21

// Tool returns the go command of a release such as "1.20.14" and the environment it needs. It
// copies releases before 1.21 into a directory of the test, because files in the module cache
// are not executable; that takes some 400 MB. The test fails if the release is unavailable.
//
// For the names of the modules see https://go.dev/doc/toolchain, Downloading toolchains.
func Tool(t testing.TB, version string) (file string, env []string) {
	t.Helper()
	parts := strings.Split(version, ".")
	if len(parts) < 2 || parts[0] != "1" {
		t.Fatalf("no release of Go: %q", version)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatalf("no release of Go: %q", version)
	}
	if minor >= firstChosen {
		return "go", []string{"GOTOOLCHAIN=go" + version}
	}
	root := filepath.Join(t.TempDir(), "go")
	if err := os.CopyFS(root, os.DirFS(download(t, version))); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "bin", "go"), []string{"GOROOT=" + root, "GOTOOLCHAIN=local"}
}

// download returns the path of a release in the module cache, and downloads it if needed.
func download(t testing.TB, version string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json",
		"golang.org/toolchain@v0.0.1-go"+version+"."+runtime.GOOS+"-"+runtime.GOARCH)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod")
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	return module.Dir
}
