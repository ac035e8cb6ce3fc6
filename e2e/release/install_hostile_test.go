// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// releaseOf serves a release of two programs for this machine. Its redirects lead to another server, of which it
// returns what was asked there.
func releaseOf(t *testing.T) (at string, asked *[]string) {
	t.Helper()
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	for _, name := range []string{program, small} {
		text := "#!/bin/sh\necho " + name + "\n"
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	name := "snug_0.1.0_linux_amd64.tar.gz"
	sums := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	asked = new([]string)
	file := func(w http.ResponseWriter, r *http.Request) {
		if text := sums; strings.HasSuffix(r.URL.Path, name) {
			w.Write(archive.Bytes())
		} else {
			w.Write([]byte(text))
		}
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		file(w, r)
	}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/away") {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
			return
		}
		file(w, r)
	}))
	t.Cleanup(func() { s.Close(); other.Close() })
	return s.URL, asked
}

// installs runs install.sh.
func installs(t *testing.T, releases, tools, bin string, args ...string) result {
	t.Helper()
	env := []string{"HOME=" + t.TempDir(), "SNUG_RELEASES=" + releases, "PATH=" + tools}
	return try(t, t.TempDir(), env, append([]string{"/bin/sh", filepath.Join(theTree(t).root, "install.sh"), "-b", bin}, args...)...)
}

// toolsWithout returns a PATH of what install.sh needs, without some.
func toolsWithout(t *testing.T, without ...string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "uname"), machine("Linux", "x86_64")["uname"])
	for _, name := range strings.Fields("mktemp grep wc curl wget sed sha256sum cut gzip tar mkdir cp chmod mv rm ls id dirname cat") {
		file, err := exec.LookPath(name)
		if err != nil && (name == "curl" || name == "wget") {
			t.Skip(err)
		}
		if !slices.Contains(without, name) {
			if err := errors.Join(err, os.Symlink(file, filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestInstallKeepsItsDirectory: what it makes is removed, and never the directory that it is started in.
func TestInstallKeepsItsDirectory(t *testing.T) {
	releases, _ := releaseOf(t)
	for name, c := range map[string]struct {
		tmp  string
		code int
	}{"no place for temporary files": {"/missing", 1}, "a relative one": {".", 0}, "as usual": {t.TempDir(), 0}} {
		dir := t.TempDir()
		kept := put(t, filepath.Join(dir, "kept"), "")
		env := []string{"HOME=" + dir, "TMPDIR=" + c.tmp, "SNUG_RELEASES=" + releases, "PATH=" + toolsWithout(t)}
		r := try(t, dir, env, "/bin/sh", filepath.Join(theTree(t).root, "install.sh"), "-b", filepath.Join(dir, "bin"))
		if r.code != c.code || (c.code != 0) != strings.Contains(r.stderr, "no temporary directory") {
			t.Errorf("%s: %+v", name, r)
		}
		all, err := filepath.Glob(dir + "/*")
		if _, gone := os.Stat(kept); gone != nil || err != nil || len(all) > 2 {
			t.Errorf("%s: %q is left, %v", name, all, gone)
		}
	}
}

// TestInstallHTTPS: it downloads by https, also after a redirect; http is for this machine.
func TestInstallHTTPS(t *testing.T) {
	releases, asked := releaseOf(t)
	curl, wget := toolsWithout(t, "wget"), toolsWithout(t, "curl")
	simple := toolsWithout(t, "curl", "wget")
	put(t, filepath.Join(simple, "wget"), "#!/bin/sh\n[ \"$1\" = -qO ] || exit 1\ncat <\"$0.file\" >\"$2\"\n")
	sums := put(t, filepath.Join(t.TempDir(), "sums"), "x")
	for _, c := range []struct {
		name, releases, tools string
		args                  []string
		code                  int
		want                  string
	}{
		{"curl", releases, curl, nil, 0, ""},
		{"wget", releases, wget, nil, 0, ""},
		{"curl, away", releases + "/away", curl, nil, 1, "cannot download "},
		{"wget, away", releases + "/away", wget, nil, 1, "cannot download "},
		{"http", "http://example.com/releases", curl, nil, 2, "not https, "},
		{"nearly this machine", "http://127.0.0.1.example.com/", curl, nil, 2, "not https, "},
		{"a file", "file:///tmp", curl, nil, 2, "not https, "},
		{"https, another wget", "https://example.com/releases", simple, nil, 1, "this wget cannot be kept to https"},
		{"https, another wget, own sums", "https://example.com/releases", simple, []string{"-s", sums}, 1, "the release has nothing for linux_amd64"},
	} {
		bin := filepath.Join(t.TempDir(), "bin")
		r := installs(t, c.releases, c.tools, bin, c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want %d, %q", c.name, r, c.code, c.want)
		}
		if _, err := os.Stat(filepath.Join(bin, program)); (err == nil) != (c.code == 0) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(*asked) > 0 {
		t.Errorf("redirects to http were followed: %q", *asked)
	}
}

// TestInstallLinks: no link in the directory of -b, or of another user in a shared one, leads out.
func TestInstallLinks(t *testing.T) {
	releases, _ := releaseOf(t)
	tools := toolsWithout(t, "wget")
	shared := func(dir string) error { return os.Chmod(dir, 0o777|fs.ModeSticky) }
	link := func(name string, owner int) func(dir string) error {
		return func(dir string) error {
			return errors.Join(os.Symlink("victim", filepath.Join(dir, name)), os.Lchown(filepath.Join(dir, name), owner, owner))
		}
	}
	const nobody = 65534
	for _, c := range []struct {
		name string
		make []func(dir string) error
		bin  string // below the directory
		root bool
		code int
	}{
		{"a program is a link to a file", []func(string) error{func(dir string) error { return os.Symlink("../victim/file", dir+"/bin/snug") }}, "bin", false, 0},
		{"a program is a link to a directory", []func(string) error{func(dir string) error { return os.Symlink("../victim", dir+"/bin/snug") }}, "bin", false, 0},
		{"a program is a directory", []func(string) error{func(dir string) error { return os.Mkdir(dir+"/bin/snug", 0o755) }}, "bin", false, 1},
		{"one's own link", []func(string) error{func(dir string) error { return os.Symlink("bin", dir+"/l") }}, "l", false, 0},
		{"a link of another user", []func(string) error{shared, link("l", nobody)}, "l", true, 1},
		{"below one", []func(string) error{shared, link("l", nobody)}, "l/bin", true, 1},
		{"a link of another user elsewhere", []func(string) error{func(dir string) error { return os.Symlink("bin", dir+"/l") }, func(dir string) error { return os.Lchown(dir+"/l", nobody, nobody) }}, "l", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") && !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",release,") {
				t.Skip("set SNUG_E2E=release or root to run as root")
			}
			dir := t.TempDir()
			put(t, dir+"/victim/file", "as it was")
			if err := os.Mkdir(dir+"/bin", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, f := range c.make {
				if err := f(dir); err != nil {
					t.Fatal(err)
				}
			}
			r := installs(t, releases, tools, filepath.Join(dir, c.bin))
			if r.code != c.code {
				t.Errorf("%+v, want %d", r, c.code)
			}
			entries, err := os.ReadDir(dir + "/victim")
			if text := string(read(t, dir+"/victim/file")); err != nil || len(entries) != 1 || text != "as it was" {
				t.Errorf("%v, %v, %q", entries, err, text)
			}
			entries, err = os.ReadDir(dir + "/bin")
			if err != nil || c.code == 0 && len(entries) != 2 || c.code != 0 && len(entries) > 1 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}
