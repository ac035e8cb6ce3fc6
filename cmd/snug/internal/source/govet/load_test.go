// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportInError: a package is not passed over in silence because of what it imports.
func TestImportInError(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	for name, text := range map[string]string{
		"go.mod":     "module example.com/m\n\ngo 1.25\n",
		"bad/a.go":   "package bad\n\nvar X int = \"s\"\n",
		"mid/a.go":   "package mid\n\nimport _ \"example.com/m/bad\"\n",
		"top/a.go":   "package top\n\nimport (\n\t_ \"example.com/m/mid\"\n\t\"runtime\"\n)\n\nfunc init() { runtime.GOMAXPROCS(runtime.NumCPU()) }\n",
		"alone/a.go": "package alone\n\nimport \"runtime\"\n\nfunc init() { runtime.GOMAXPROCS(runtime.NumCPU()) }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := Run(t.Context(), "", []string{"./top"}, Build{}); err == nil || !strings.Contains(err.Error(), "cannot vet: ") {
		t.Errorf("%v, %v", r, err)
	}
	r, err := Run(t.Context(), "", []string{"./top", "./alone"}, Build{})
	if err == nil || len(r.Found) == 0 || !strings.HasSuffix(r.Found[0].File, "alone/a.go") {
		t.Errorf("%v, %v", r, err)
	}
}
