// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installer runs install.sh with a home and a PATH of its own, whose commands may be replaced.
func installer(t *testing.T, releases string, replaced map[string]string, args ...string) (result, string) {
	t.Helper()
	home := t.TempDir()
	for name, text := range replaced {
		put(t, filepath.Join(home, "path", name), text)
	}
	env := []string{"HOME=" + home, "SNUG_RELEASES=" + releases, "PATH=" + filepath.Join(home, "path") + ":" + os.Getenv("PATH")}
	script := filepath.Join(theTree(t).root, "install.sh")
	return try(t, home, env, append([]string{"sh", script, "-b", filepath.Join(home, "bin")}, args...)...), filepath.Join(home, "bin")
}

// machine is a uname that prints another system.
func machine(kernel, arch string) map[string]string {
	return map[string]string{"uname": "#!/bin/sh\n[ \"$1\" = -m ] && echo " + arch + " || echo " + kernel + "\n"}
}

// TestInstallScript installs the release as the README says.
func TestInstallScript(t *testing.T) {
	b, releases := released(t), serve(t, nil)
	sums := filepath.Join(b.dir, sumsFile)
	for _, args := range [][]string{nil, {version}, {"-s", sums}, {"-k", filepath.Join(b.dir, "snug.pub")}} {
		r, bin := installer(t, releases, nil, args...)
		if r.code != 0 || !strings.HasPrefix(r.out, "snug v0.1.0 is in "+bin+"\n") || r.stderr != "" {
			t.Errorf("%q: %+v", args, r)
			continue
		}
		says(t, filepath.Join(bin, program))
		says(t, filepath.Join(bin, small))
	}
	r, bin := installer(t, releases, machine("Linux", "aarch64"))
	if r.code != 0 {
		t.Errorf("%+v", r)
	}
	says(t, emulated("arm64", filepath.Join(bin, program))...)
	for name, uname := range map[string]map[string]string{"snug": machine("Darwin", "arm64"), "snug.exe": machine("MINGW64_NT-10.0", "x86_64")} {
		r, bin := installer(t, releases, uname)
		if entries, err := os.ReadDir(bin); r.code != 0 || err != nil || len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%s: %+v, %v", name, r, entries)
		}
	}
	// A minimal system: busybox with its shell, its wget and no curl.
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	home, tools := t.TempDir(), t.TempDir()
	for _, name := range strings.Fields("sh uname mktemp grep wc wget sha256sum cut gzip tar mkdir cp chmod mv rm ls id dirname") {
		if err := os.Symlink(busybox, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	small := []string{"env", "-i", "HOME=" + home, "PATH=" + tools, "SNUG_RELEASES=" + releases, filepath.Join(tools, "sh"), filepath.Join(theTree(t).root, "install.sh"), "-b", home}
	if r := try(t, home, nil, small...); r.code != 0 {
		t.Errorf("busybox: %+v", r)
	}
	says(t, filepath.Join(home, program))
}

// TestInstallScriptRefuses: if anything is wrong, it says so in one line with a hint, and installs
// nothing.
func TestInstallScriptRefuses(t *testing.T) {
	b, good := released(t), serve(t, nil)
	sums := string(read(t, filepath.Join(b.dir, sumsFile)))
	archive := archiveName(version, system{"linux", "amd64"})
	wrong := serve(t, map[string]string{archive: "something else"})
	other := serve(t, map[string]string{sumsFile: strings.Replace(sums, "0", "1", 1)})
	twice := put(t, filepath.Join(t.TempDir(), sumsFile), sums+strings.ReplaceAll(sums, "_0.1.0_", "_0.1.1_"))
	public := filepath.Join(b.dir, "snug.pub")
	for _, c := range []struct {
		name, releases string
		replaced       map[string]string
		args           []string
		code           int
		want           string
	}{
		{"another archive", wrong, nil, nil, 1, "wrong checksum, " + archive},
		{"checksums of another signer", other, nil, []string{"-k", public}, 1, "the signature of the checksums is not of " + public},
		{"no such release", good, nil, []string{"v9.9.9"}, 1, "cannot download " + good + "/download/v9.9.9/SHA256SUMS"},
		{"no server", "http://127.0.0.1:1", nil, nil, 1, "cannot download http://127.0.0.1:1/latest/download/SHA256SUMS"},
		{"no release for the system", good, machine("FreeBSD", "amd64"), nil, 1, "the release has nothing for FreeBSD_amd64"},
		{"two releases", good, nil, []string{"-s", twice}, 1, "several archives for linux_amd64 in " + twice},
		{"checksums of another version", good, nil, []string{"-s", filepath.Join(b.dir, sumsFile), "v0.2.0"}, 1, "these are checksums of v0.1.0, not v0.2.0"},
		{"a flag", good, nil, []string{"-x"}, 2, "wrong usage"},
		{"two versions", good, nil, []string{version, version}, 2, "wrong usage, v0.1.0"},
		{"not a version", good, nil, []string{"../x"}, 2, "no version, ../x"},
		{"a key for checksums of your own", good, nil, []string{"-s", twice, "-k", public}, 2, "wrong usage, -k with -s"},
	} {
		r, bin := installer(t, c.releases, c.replaced, c.args...)
		if r.code != c.code || r.out != "" || !strings.Contains(r.stderr, "install.sh: error: "+c.want) || strings.Count(r.stderr, "install.sh: hint: ") != 1 {
			t.Errorf("%s: %+v, want %s", c.name, r, c.want)
		}
		if entries, err := os.ReadDir(bin); err == nil {
			t.Errorf("%s: installed %v", c.name, entries)
		}
	}
}
