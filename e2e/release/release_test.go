// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/mod/module"

	"github.com/snug-go/snug/e2e/internal/gate"
)

const version = "v0.1.0"

func theTree(t *testing.T) tree {
	t.Helper()
	tr, err := findTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestProxyHoldsTheModules(t *testing.T) {
	tr := theTree(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		if err := tr.writeProxy(t.Context(), dir, version); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		library: {"LICENSE", "go.mod", "snug.go", "limits/limits.go", "auto/auto.go"},
		tool:    {"LICENSE", "go.mod", "main.go"},

		collector: {"LICENSE", "go.mod", "collector.go", "alerts.yml"},
	} {
		name := filepath.Join(path, "@v", version+".zip")
		first, second := read(t, filepath.Join(dirs[0], name)), read(t, filepath.Join(dirs[1], name))
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two zips of one tree differ", path)
		}
		r, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range r.File {
			names = append(names, strings.TrimPrefix(f.Name, path+"@"+version+"/"))
		}
		for _, w := range want {
			if !slices.Contains(names, w) {
				t.Errorf("%s: no %s in the zip", path, w)
			}
		}
		for _, n := range names {
			if path == library && (strings.HasPrefix(n, "cmd/") || strings.HasPrefix(n, "e2e/") || strings.HasPrefix(n, "contrib/") || strings.HasPrefix(n, "experiments/")) {
				t.Errorf("%s: %s is of another module", path, n)
			}
		}
		const maxZip = 1 << 20 // bytes that every user of the library downloads
		if path == library && len(first) > maxZip {
			t.Errorf("%s: the zip has %d bytes, want at most %d", path, len(first), maxZip)
		}
	}
}

func TestReleasableGoMod(t *testing.T) {
	tests := []struct {
		name, path, mod string
		ok              bool
	}{
		{"library", library, "module " + library + "\ngo 1.23\n", true},
		{"library that requires", library, "module " + library + "\nrequire golang.org/x/sys v0.1.0\n", false},
		{"tool", tool, "module " + tool + "\nrequire " + library + " v0.1.0\n", true},
		{"tool with an older library", tool, "module " + tool + "\nrequire " + library + " v0.0.9\n", false},
		{"tool without the library", tool, "module " + tool + "\n", false},
		{"tool that replaces", tool, "module " + tool + "\nrequire " + library + " v0.1.0\nreplace " + library + " => ../..\n", false},
		{"another module", tool, "module example.com/x\nrequire " + library + " v0.1.0\n", false},
	}
	for _, test := range tests {
		err := releasable([]byte(test.mod), module.Version{Path: test.path, Version: version})
		if (err == nil) != test.ok {
			t.Errorf("%s: %v, want ok %v", test.name, err, test.ok)
		}
	}
}

func TestIdentify(t *testing.T) {
	// The Go distribution's own licence has the three clauses of BSD.
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		string(read(t, filepath.Join(strings.TrimSpace(string(out)), "LICENSE"))): "BSD-3-Clause",
		string(read(t, filepath.Join(theTree(t).root, "LICENSE"))):                "Apache-2.0",
		"All rights reserved.": "",
	}
	for text, want := range tests {
		if got := identify(text); got != want {
			t.Errorf("%.40q is %q, want %q", text, got, want)
		}
	}
}

// TestInstallAsAUser installs the tool from the proxy with the README's command and uses it.
func TestInstallAsAUser(t *testing.T) {
	gate.Need(t, "release")
	tr := theTree(t)
	proxy, home := t.TempDir(), t.TempDir()
	if err := tr.writeProxy(t.Context(), proxy, version); err != nil {
		t.Fatal(err)
	}
	u, err := newUser(t.Context(), home, proxy)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(home, "bin")
	if _, err := command(t.Context(), home, append(u.env, "GOBIN="+bin), "go", "install", tool+"@"+version); err != nil {
		t.Fatal(err)
	}
	snug := filepath.Join(bin, "snug")
	for _, test := range []struct {
		args []string
		want *regexp.Regexp
	}{
		{[]string{"version"}, regexp.MustCompile(`\b` + regexp.QuoteMeta(version) + `\b`)},
		{[]string{"limits", "--json"}, regexp.MustCompile(`^\{\s*"snug":\s*"v1",\s*"kind":\s*"limits"`)},
		{[]string{"plan", "--json"}, regexp.MustCompile(`^\{\s*"snug":\s*"v1",\s*"kind":\s*"plan"`)},
		{[]string{"run", "--", snug, "version"}, regexp.MustCompile(regexp.QuoteMeta(version))},
	} {
		out, err := command(t.Context(), home, nil, append([]string{snug}, test.args...)...)
		if err != nil {
			t.Error(err)
		} else if !test.want.MatchString(out) {
			t.Errorf("snug %s printed %q, want %v", strings.Join(test.args, " "), out, test.want)
		}
	}
}

func TestRelease(t *testing.T) {
	gate.Need(t, "release")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dist := filepath.Join(t.TempDir(), "dist")
	if err := theTree(t).release(t.Context(), dist, version); err != nil {
		t.Fatal(err)
	}
	names := []string{"THIRD_PARTY_LICENSES", "sbom.spdx.json", imageFile, "snug-linux-amd64", "snug-linux-arm64"}
	var sums strings.Builder
	for _, name := range names {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(read(t, filepath.Join(dist, name))), name)
	}
	if got := string(read(t, filepath.Join(dist, "SHA256SUMS"))); got != sums.String() {
		t.Errorf("SHA256SUMS is\n%s\nwant\n%s", got, sums.String())
	}
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		out, err := command(t.Context(), "", nil, filepath.Join(dist, "snug-linux-"+runtime.GOARCH), "version")
		if err != nil || !strings.Contains(out, version) {
			t.Errorf("the binary's version: %q, %v", out, err)
		}
		// A released binary passes ignored signals on to its command; one from a plain `go install`
		// does not.
		out, err = command(t.Context(), "", nil, "sh", "-c", "trap '' TERM PIPE; exec \"$0\" run -- cat /proc/self/status",
			filepath.Join(dist, "snug-linux-"+runtime.GOARCH))
		_, after, _ := strings.Cut(out, "SigIgn:\t")
		field, _, _ := strings.Cut(after, "\n")
		const ignored = 1<<(syscall.SIGTERM-1) | 1<<(syscall.SIGPIPE-1)
		if got, _ := strconv.ParseUint(field, 16, 64); err != nil || got&ignored != ignored {
			t.Errorf("its command has SigIgn %q, want at least %x; %v", field, ignored, err)
		}
	}
	licences := string(read(t, filepath.Join(dist, "THIRD_PARTY_LICENSES")))
	goroot, err := command(t.Context(), "", nil, "go", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	goLicence := strings.TrimSpace(string(read(t, filepath.Join(strings.TrimSpace(goroot), "LICENSE"))))
	for _, want := range []string{"the Go standard library", goLicence, "github.com/spf13/cobra", "Apache License\n"} {
		if !strings.Contains(licences, want) {
			t.Errorf("THIRD_PARTY_LICENSES lacks %.100q", want)
		}
	}
	checkSBOM(t, dist)
	releasedImage(t, dist)
}

// checkSBOM checks the requirements of the SPDX specification: identifiers are well formed, unique
// and known where they are used; required fields are set; checksums match the files.
func checkSBOM(t *testing.T, dist string) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(read(t, filepath.Join(dist, "sbom.spdx.json"))))
	decoder.DisallowUnknownFields()
	var doc spdxDocument
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("after the document: %v", err)
	}
	if doc.Version != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" || doc.ID != "SPDXRef-DOCUMENT" ||
		doc.Creation.Created != "2023-11-14T22:13:20Z" || !strings.HasPrefix(doc.Namespace, "https://") {
		t.Errorf("head of the SBOM: %+v", doc)
	}
	valid := regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`)
	ids := map[string]bool{doc.ID: true}
	add := func(id string) {
		if !valid.MatchString(id) || ids[id] {
			t.Errorf("identifier %q is malformed or used twice", id)
		}
		ids[id] = true
	}
	for _, p := range doc.Packages {
		add(p.ID)
		if p.Name == "" || p.VersionInfo == "" || p.DownloadLocation == "" || p.LicenseConcluded == "" || len(p.ExternalRefs) != 1 {
			t.Errorf("package %+v lacks something", p)
		}
	}
	for _, f := range doc.Files {
		add(f.ID)
		sum := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(dist, f.Name))))
		if !slices.Contains(f.Checksums, spdxChecksum{"SHA256", sum}) {
			t.Errorf("%s: checksums %v, the file has %s", f.Name, f.Checksums, sum)
		}
	}
	linked := map[string]bool{}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("relationship %+v names an unknown element", r)
		}
		linked[r.Related] = true
	}
	for _, p := range doc.Packages {
		if !linked[p.ID] {
			t.Errorf("package %s is not in relation to anything", p.Name)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
