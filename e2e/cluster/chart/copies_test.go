// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "copy the templates of snug policy and snug webhook into the chart")

// TestCopies: a chart can read only its own files, so it holds copies of the tool's templates for
// policies and for the webhook's registration. Links would work with helm, which then prints a line
// for each on every run. They would not work with Flux, which drops links when it fetches from Git
// (fluxcd/flux2#4088), in a checkout without links as on Windows, or in a copy of the chart's
// folder.
func TestCopies(t *testing.T) {
	for to, from := range map[string]string{
		"files/policy":  "../../../cmd/snug/internal/cluster/policy",
		"files/webhook": "../../../cmd/snug/internal/cluster/webhook",
	} {
		want, got := templates(t, from), templates(t, filepath.Join(folder, to))
		if len(want) == 0 {
			t.Errorf("no templates in %s", from)
		}
		for name, text := range want {
			if bytes.Equal(text, got[name]) {
				continue
			}
			if !*update {
				t.Errorf("%s/%s differs from the one in %s; go test ./e2e/cluster/chart -run TestCopies -update copies it", to, name, from)
			} else if err := os.WriteFile(filepath.Join(folder, to, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for name := range got {
			if want[name] != nil {
				continue
			}
			if !*update {
				t.Errorf("%s/%s is not a template of the tool", to, name)
			} else if err := os.Remove(filepath.Join(folder, to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// templates returns the templates of a directory by name.
func templates(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		if all[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
