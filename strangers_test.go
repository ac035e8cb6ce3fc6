// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestStrangers is TestSituations for the layouts of public reports in an experiment's folder.
func TestStrangers(t *testing.T) {
	const dir = "experiments/2026-11-28-strangers"
	reports, err := fixture.LoadAll(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) < 43 {
		t.Fatalf("found %d reports in %s, want at least 43", len(reports), dir)
	}
	for _, s := range reports {
		t.Run(s.Name, func(t *testing.T) {
			l, err := limits.Read(limits.Process{FS: s.FS})
			if err != nil {
				t.Fatal(err)
			}
			got := plan.Summary(&l, plan.Decide(&plan.Input{Limits: l}))
			if bytes.Equal(got, s.Want) {
				return
			}
			if *update {
				s.Want = got
				if err := os.WriteFile(filepath.Join(dir, s.Name+fixture.Ext), fixture.Format(s), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("(-want +got)\n%s", diff(s.Want, got))
		})
	}
}
