// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/vet"
)

func TestKnob(t *testing.T) {
	for _, c := range []struct{ name, value, id, fix string }{
		{"GOMEMLIMIT", "512MiB", "", ""},
		{"GOMEMLIMIT", "536870912", "", ""},
		{"GOMEMLIMIT", "536870912B", "", ""},
		{"GOMEMLIMIT", "off", "", ""},
		{"GOMEMLIMIT", "", "", ""},
		{"GOMEMLIMIT", "512Mi", "gomemlimit-malformed", "512MiB"},
		{"GOMEMLIMIT", "512MB", "gomemlimit-malformed", "512MiB"},
		{"GOMEMLIMIT", "1g", "gomemlimit-malformed", "1GiB"},
		{"GOMEMLIMIT", "1.5GiB", "gomemlimit-malformed", ""},
		{"GOMEMLIMIT", "90%", "gomemlimit-malformed", ""},
		{"GOMEMLIMIT", "-1", "gomemlimit-malformed", ""},
		{"GOMEMLIMIT", "9007199254740992KiB", "gomemlimit-malformed", ""},
		{"GOMEMLIMIT", "GiB", "gomemlimit-malformed", ""},
		{"GOMEMLIMIT", "512", "gomemlimit-tiny", "512MiB"},
		{"GOMEMLIMIT", "0", "gomemlimit-tiny", ""},
		{"GOGC", "200", "", ""},
		{"GOGC", "-1", "", ""},
		{"GOGC", "200%", "gogc-malformed", "200"},
		{"GOGC", "OFF", "gogc-malformed", "off"},
		{"GOGC", "1.5", "gogc-malformed", ""},
		{"GOGC", "0", "gogc-zero", ""},
		{"GOMAXPROCS", "2", "", ""},
		{"GOMAXPROCS", "", "", ""},
		{"GOMAXPROCS", "1500m", "gomaxprocs-malformed", "2"},
		{"GOMAXPROCS", "2.5", "gomaxprocs-malformed", "3"},
		{"GOMAXPROCS", "0", "gomaxprocs-malformed", ""},
		{"GODEBUG", "gctrace=1,madvdontneed=0", "", ""},
		{"GODEBUG", "gctrace=1,sbrk=1", "godebug-harmful", ""},
		{"GODEBUG", "containermaxprocs=0", "godebug-no-quota", ""},
		{"GODEBUG", "containermaxprocs=1,sbrk=0", "", ""},
		{"HOME", "512Mi", "", ""},
	} {
		got := vet.Problem{}
		for _, p := range vet.Knob(c.name, c.value) {
			got = p
		}
		if got.ID != c.id || got.Fix != c.fix {
			t.Errorf("%s=%s: %q, write %q; want %q, write %q", c.name, c.value, got.ID, got.Fix, c.id, c.fix)
		}
	}
}

// FuzzKnob: a suggested value has no problem itself.
func FuzzKnob(f *testing.F) {
	for _, v := range []string{"512Mi", "9007199254740992KiB", "1k", "1.5g", "200%", "500m", "sbrk=1", "off"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG"} {
			for _, p := range vet.Knob(name, value) {
				if p.Fix != "" && len(vet.Knob(name, p.Fix)) > 0 {
					t.Errorf("%s=%q: write %q, which is %q", name, value, p.Fix, vet.Knob(name, p.Fix)[0].ID)
				}
			}
		}
	})
}
