// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

var update = flag.Bool("update", false, "write what is read and decided now into testdata/situations; review the diff")

// TestSituations reads every saved container and compares the limits and decisions with the
// file's expected ones.
func TestSituations(t *testing.T) {
	situations, err := fixture.LoadAll(os.DirFS("testdata/situations"))
	if err != nil {
		t.Fatal(err)
	}
	if len(situations) < 24 {
		t.Fatalf("found %d situations in testdata/situations, want at least 24", len(situations))
	}
	for _, s := range situations {
		t.Run(s.Name, func(t *testing.T) {
			l, err := limits.Read(limits.Process{FS: s.FS})
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Decide(&plan.Input{Limits: l})
			got := plan.Summary(&l, p)
			if bytes.Equal(got, s.Want) {
				return
			}
			if *update {
				s.Want = got
				name := filepath.Join("testdata", "situations", s.Name+".txtar")
				if err := os.WriteFile(name, fixture.Format(s), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("(-want +got)\n%s", diff(s.Want, got))
		})
	}
}

// diff lists the lines that only one of two short texts has.
func diff(want, got []byte) string {
	var b strings.Builder
	have := map[string]int{}
	for _, line := range strings.Split(string(got), "\n") {
		have[line]++
	}
	for _, line := range strings.Split(string(want), "\n") {
		if have[line]--; have[line] < 0 {
			b.WriteString("-" + line + "\n")
		}
	}
	had := map[string]int{}
	for _, line := range strings.Split(string(want), "\n") {
		had[line]++
	}
	for _, line := range strings.Split(string(got), "\n") {
		if had[line]--; had[line] < 0 {
			b.WriteString("+" + line + "\n")
		}
	}
	return b.String()
}
