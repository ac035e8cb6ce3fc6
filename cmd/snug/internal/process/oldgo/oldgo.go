// SPDX-License-Identifier: Apache-2.0

// Package oldgo has other releases of Go for tests, by the module proxy.
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

// firstChosen is the first minor version that the go command can choose by GOTOOLCHAIN.
const firstChosen = 21

// Tool finds the go command of a release such as "1.20.14", and what its environment
// needs. Releases before 1.21 are copied into a folder of the test, because the module
// cache keeps files from being executed; they take some 400 MB. What cannot be had ends
// the test.
//
// How the modules of releases are called: https://go.dev/doc/toolchain, Downloading toolchains.
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

// download is where the module cache has a release.
func download(t testing.TB, version string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "golang.org/toolchain@v0.0.1-go"+version+"."+runtime.GOOS+"-"+runtime.GOARCH)
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
