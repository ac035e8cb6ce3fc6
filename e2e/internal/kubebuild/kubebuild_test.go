// SPDX-License-Identifier: Apache-2.0

package kubebuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// release provides a module with two commands to the go command. The test gets caches of its own,
// except for the build cache.
func release(t *testing.T) Source {
	t.Helper()
	from, proxy, m := t.TempDir(), t.TempDir(), module.Version{Path: "example.org/two", Version: "v1.0.0"}
	at := filepath.Join(proxy, m.Path, "@v")
	const mod = "module example.org/two\n\ngo 1.26\n"
	for name, text := range map[string]string{
		filepath.Join(from, "go.mod"):        mod,
		filepath.Join(from, "go.sum"):        "",
		filepath.Join(from, "cmd/a/main.go"): "package main\n\nvar said string\n\nfunc main() { print(said) }\n",
		filepath.Join(from, "cmd/b/main.go"): "package main\n\nfunc main() {}\n",
		filepath.Join(at, "v1.0.0.mod"):      mod,
		filepath.Join(at, "v1.0.0.info"):     `{"Version": "v1.0.0", "Time": "2000-01-01T00:00:00Z"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := os.Create(filepath.Join(at, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := zip.CreateFromDir(w, m, from); err != nil {
		t.Fatal(err)
	}
	compiled, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOCACHE": strings.TrimSpace(string(compiled)), "GOMODCACHE": t.TempDir(), "XDG_CACHE_HOME": t.TempDir(),
		"GOPROXY": "file://" + filepath.ToSlash(proxy), "GOSUMDB": "off",
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { // the files are read-only, so RemoveAll fails
		if out, err := exec.Command("go", "clean", "-modcache").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return Source{Module: m.Path, Version: m.Version, Folder: "two", LDFlags: "-X main.said=flagged",
		Packages: map[string]string{"first": m.Path + "/cmd/a", "second": m.Path + "/cmd/b"}}
}

// TestBuild: concurrent callers build all commands together and once, and leave nothing else.
func TestBuild(t *testing.T) {
	s := release(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(cache, "snug-kube")
	if err := os.MkdirAll(filepath.Join(kept, "build-of-one-that-was-killed", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	var dirs [3]string
	var found [3]os.FileInfo
	var group sync.WaitGroup
	for i := range dirs {
		group.Go(func() {
			dir, err := s.Build(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			dirs[i] = dir
			if found[i], err = os.Stat(filepath.Join(dir, "first")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for _, f := range found {
		if !os.SameFile(f, found[0]) {
			t.Error("built more than once")
		}
	}
	out, err := exec.Command(filepath.Join(dirs[0], "first")).CombinedOutput()
	if err != nil || string(out) != "flagged" {
		t.Errorf("first says %q, %v", out, err)
	}
	if out, err := exec.Command(filepath.Join(dirs[0], "second")).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("second says %q, %v", out, err)
	}
	for dir, want := range map[string]string{kept: "lock two", dirs[0]: "first second"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("in %s: %s", dir, got)
		}
	}
}

// TestOwnMain: a library's command is built from a source of ours.
func TestOwnMain(t *testing.T) {
	s := release(t)
	s.Packages = map[string]string{"own": commands}
	s.Main = "package main\n\nvar said string\n\nfunc main() { print(said) }\n"
	dir, err := s.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "own")).CombinedOutput(); err != nil || string(out) != "flagged" {
		t.Errorf("own says %q, %v", out, err)
	}
}

// TestBroken: a failed build leaves nothing, and every caller gets the reason.
func TestBroken(t *testing.T) {
	s := release(t)
	s.Packages["third"] = s.Module + "/cmd/c"
	dir, err := s.Build(t.Context())
	if err == nil || !strings.Contains(err.Error(), "example.org/two/cmd/c") {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
