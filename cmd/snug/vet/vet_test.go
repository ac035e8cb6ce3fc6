// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/snug-go/snug/cmd/snug/vet"
)

func named(t *testing.T, name string) *analysis.Analyzer {
	t.Helper()
	for _, a := range vet.Analyzers() {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no analyzer %s", name)
	return nil
}

// TestAnalyzers checks that the analyzers report the wanted findings and no others.
func TestAnalyzers(t *testing.T) {
	for name, packages := range map[string][]string{
		"gomaxprocs": {"gomaxprocsok", "ignored"}, "poolsize": {"poolok"},
		"gcpercent": {"gcpercent", "gcoff", "gcpercentbounded"}, "memstats": {"memstats"}, "goenv": {"goenvchild"},
		"ballast": {"ballast"}, "gctuner": {"gctuner", "tunerok"}, "snugignore": {"badignore"},
	} {
		t.Run(name, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), named(t, name), packages...)
		})
	}
}

// TestFixes compares the results of fixes with .golden files.
func TestFixes(t *testing.T) {
	for name, packages := range map[string][]string{
		"gomaxprocs": {"gomaxprocs"}, "poolsize": {"pool"}, "goenv": {"goenv"},
	} {
		t.Run(name, func(t *testing.T) {
			analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), named(t, name), packages...)
		})
	}
}

// module copies a module of testdata. There its go.mod is called go.mod.txt, because a
// directory with a go.mod is not part of the module around it, and so not released.
func module(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "modules", name))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if whole, found := strings.CutSuffix(path, "go.mod.txt"); err == nil && found {
			return os.Rename(path, whole+"go.mod")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestModules checks the analyzers that read go.mod.
func TestModules(t *testing.T) {
	aware, old := module(t, "aware"), module(t, "old")
	t.Setenv("GOWORK", "off")
	analysistest.RunWithSuggestedFixes(t, aware, named(t, "automaxprocs"), "./blank")
	analysistest.Run(t, aware, named(t, "automaxprocs"), "./called", "./follows")
	analysistest.Run(t, old, named(t, "automaxprocs"), "./blank")
	analysistest.RunWithSuggestedFixes(t, aware, named(t, "automemlimit"), "./blankmem")
	analysistest.Run(t, aware, named(t, "automemlimit"), "./both", "./calledmem", "./follows")
	analysistest.Run(t, aware, named(t, "initorder"), "./early", "./earlysafe", "./earlybelow", "./later", "./follows")
}

// TestChecks: each id has a text, each text an id, and each check an analyzer.
func TestChecks(t *testing.T) {
	var texts, ids []string
	for _, m := range regexp.MustCompile(`(?m)^## (\S+) \(vet\)\n\n\S.*\n\n\S`).FindAllStringSubmatch(vet.Text, -1) {
		texts = append(texts, m[1])
	}
	for _, c := range vet.Checks() {
		ids = append(ids, c.ID)
		if c.Analyzer != "" {
			named(t, c.Analyzer)
		}
		if !slices.Contains([]string{"info", "warning", "error"}, c.Severity) {
			t.Errorf("%s has severity %q", c.ID, c.Severity)
		}
	}
	slices.Sort(texts)
	slices.Sort(ids)
	if !slices.Equal(texts, ids) || len(slices.Compact(ids)) != len(vet.Checks()) {
		t.Errorf("texts %s\nids %s", strings.Join(texts, " "), strings.Join(ids, " "))
	}
	if err := analysis.Validate(vet.Analyzers()); err != nil {
		t.Error(err)
	}
}
