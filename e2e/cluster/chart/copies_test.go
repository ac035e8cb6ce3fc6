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

// TestCopies: a chart can read no file but its own, so it holds copies of the templates of
// which the tool makes policies and the webhook's registration. Links to them would do for
// helm, which prints a line for each whenever it runs, but not for Flux, which leaves links out
// of what it fetches from Git (fluxcd/flux2#4088), for a checkout without links as on Windows,
// nor for a copy of the chart's folder alone.
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
				t.Errorf("%s/%s is not what %s has; go test ./e2e/cluster/chart -run TestCopies -update copies it", to, name, from)
			} else if err := os.WriteFile(filepath.Join(folder, to, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for name := range got {
			if want[name] != nil {
				continue
			}
			if !*update {
				t.Errorf("%s/%s is no template of the tool", to, name)
			} else if err := os.Remove(filepath.Join(folder, to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// templates are the texts of a directory's templates, by their names.
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
