// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"

	"github.com/snug-go/snug/e2e/internal/gate"
)

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
		telemetry: {"LICENSE", "go.mod", "otel.go"},
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
			if path == library && (strings.HasPrefix(n, "cmd/") || strings.HasPrefix(n, "e2e/") || strings.HasPrefix(n, "contrib/otel/") || strings.HasPrefix(n, "contrib/prometheus/") || strings.HasPrefix(n, "experiments/")) {
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
