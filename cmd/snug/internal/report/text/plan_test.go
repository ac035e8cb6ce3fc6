// SPDX-License-Identifier: Apache-2.0

package text

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestDefaultText: what a program uses by default, if known.
func TestDefaultText(t *testing.T) {
	old := func() *finding.Runtime {
		return &finding.Runtime{Go: new("go1.19.8"), GOMAXPROCS: new(2), Agrees: true, Text: "it does not look at cgroups"}
	}
	module := old()
	module.Automaxprocs, module.Automemlimit = new(1), true
	other := old()
	other.Agrees = false
	for _, c := range []struct {
		name    string
		runtime *finding.Runtime
		program *finding.Program
		want    string
	}{
		{"no program", old(), nil, "go1.19.8 would use GOMAXPROCS=2 and no GOMEMLIMIT: it does not look at cgroups"},
		{"not the plan", other, &finding.Program{}, "go1.19.8 would use GOMAXPROCS=2 (not the plan) and no GOMEMLIMIT: it does not look at cgroups"},
		{"modules", module, &finding.Program{},
			"go1.19.8 would use GOMAXPROCS=2, or 1 by automaxprocs in it, which rounds the quota down, and the GOMEMLIMIT that automemlimit in it may set: it does not look at cgroups"},
		{"own code", old(), &finding.Program{ProcsSetBy: []string{"main.main"}},
			"go1.19.8 would use GOMAXPROCS=2, unless main.main in it sets another, and no GOMEMLIMIT: it does not look at cgroups"},
		{"own code for both", old(), &finding.Program{ProcsSetBy: []string{"main.a", "main.b"}, MemorySetBy: []string{"main.c"}},
			"go1.19.8 would use GOMAXPROCS=2, unless main.a or main.b in it sets another, and no GOMEMLIMIT, unless main.c in it sets another: it does not look at cgroups"},
		{"much own code, hostile", other, &finding.Program{ProcsSetBy: []string{"a\x1b", "b", "c", "d", "e"}},
			`go1.19.8 would use GOMAXPROCS=2 (not the plan), unless a\x1b or b or c or 2 more in it sets another, and no GOMEMLIMIT: it does not look at cgroups`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := defaultText(c.runtime, c.program); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}
