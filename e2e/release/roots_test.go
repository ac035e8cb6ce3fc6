// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/macho"
	"debug/pe"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unpacked returns the headers and the contents of an archive's files, by name.
func unpacked(t *testing.T, text []byte) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, texts := map[string]*tar.Header{}, map[string][]byte{}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
		if texts[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// TestArchives: each archive has the programs of its system and the licences. Those for Linux run in
// an empty root.
func TestArchives(t *testing.T) {
	b := released(t)
	for _, s := range systems {
		text := read(t, filepath.Join(b.dir, archiveName(version, s)))
		if s.os == "windows" {
			z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range z.File {
				names = append(names, f.Name)
			}
			if !slices.Equal(names, []string{"snug.exe", "LICENSE", licenceFile}) {
				t.Errorf("%s has %q", s, names)
			}
			f, err := z.Open("snug.exe")
			if err != nil {
				t.Fatal(err)
			}
			program, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			e, err := pe.NewFile(bytes.NewReader(program))
			if err != nil || e.Machine != map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[s.arch] {
				t.Errorf("%s: %v, %v", s, e, err)
			}
			continue
		}
		headers, texts := unpacked(t, text)
		if len(texts) != len(s.programs())+2 || len(texts["LICENSE"]) == 0 || len(texts[licenceFile]) == 0 {
			t.Errorf("%s has %d files", s, len(texts))
		}
		for _, program := range s.programs() {
			if h := headers[program]; h == nil || h.Mode != 0o755 || h.Uid != 0 || h.ModTime.Unix() != epoch {
				t.Errorf("%s: %s is %+v", s, program, h)
			}
			if s.os == "darwin" {
				m, err := macho.NewFile(bytes.NewReader(texts[program]))
				if err != nil || m.Cpu != map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[s.arch] {
					t.Errorf("%s: %v", s, err)
				}
				continue
			}
			root := t.TempDir()
			put(t, filepath.Join(root, program), string(texts[program]))
			runs(t, s.arch, root, "/"+program)
		}
	}
}

// runs checks that a program runs and is of the release: for amd64 in an empty root, for arm64
// emulated.
func runs(t *testing.T, arch, root, program string) {
	t.Helper()
	if arch == "amd64" {
		says(t, "chroot", root, program)
		return
	}
	says(t, emulated(arch, filepath.Join(root, program))...)
}

// TestDebian: dpkg installs the packages in an empty root and removes them, and nothing is left.
func TestDebian(t *testing.T) {
	b := released(t)
	for _, arch := range []string{"amd64", "arm64"} {
		root := t.TempDir()
		for _, dir := range []string{"updates", "info", "triggers"} {
			if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"status", "available"} {
			put(t, filepath.Join(root, "var/lib/dpkg", name), "")
		}
		dpkg := []string{"dpkg", "--root=" + root, "--log=/dev/null", "--force-architecture", "--force-not-root"}
		out(t, append(dpkg, "--install", filepath.Join(b.dir, "snug_0.1.0_"+arch+".deb"))...)
		installed(t, arch, root, "/usr/share/zsh/vendor-completions/_snug")
		if got := out(t, "dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"), "-W", "-f", "${Status} ${Version} ${Architecture}", "snug"); got != "install ok installed 0.1.0 "+arch {
			t.Errorf("dpkg says %q", got)
		}
		out(t, append(dpkg, "--purge", "snug")...)
		left(t, root, "var")
	}
}

// TestRPM: the same with rpm.
func TestRPM(t *testing.T) {
	b := released(t)
	for arch, name := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		root := t.TempDir()
		out(t, "rpm", "--root", root, "--initdb")
		out(t, "rpm", "--root", root, "--ignorearch", "--install", filepath.Join(b.dir, "snug-0.1.0-1."+name+".rpm"))
		installed(t, arch, root, "/usr/share/zsh/site-functions/_snug")
		if got := out(t, "rpm", "--root", root, "--query", "--queryformat", "%{VERSION} %{ARCH} %{LICENSE}", "snug"); got != "0.1.0 "+name+" Apache-2.0" {
			t.Errorf("rpm says %q", got)
		}
		if got := out(t, "rpm", "--root", root, "--verify", "--nouser", "--nogroup", "snug"); got != "" {
			t.Errorf("rpm finds %q", got)
		}
		out(t, "rpm", "--root", root, "--erase", "snug")
		left(t, root, "usr/lib/sysimage", "root", "var")
	}
}

// installed checks what a package installs in a root.
func installed(t *testing.T, arch, root string, also ...string) {
	t.Helper()
	for _, program := range []string{program, small} {
		runs(t, arch, root, "/usr/bin/"+program)
	}
	for _, name := range append(also, "/usr/share/doc/snug/copyright", "/usr/share/doc/snug/"+licenceFile, "/usr/share/doc/snug/"+sbomFile,
		"/usr/share/bash-completion/completions/snug", "/usr/share/fish/vendor_completions.d/snug.fish") {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != 0o644 || info.ModTime().Unix() != epoch {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// left checks that a root has no file of the package, outside of the package manager's own folders.
func left(t *testing.T, root string, own ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err == nil && d.IsDir() && slices.Contains(own, name) {
			return filepath.SkipDir
		}
		if err == nil && strings.Contains(d.Name(), "snug") {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
