// SPDX-License-Identifier: Apache-2.0

// Package rules says what is wrong with a Go process, and what to do about it.
// A rule is a pure function of Facts. Its folder holds what it means (rule.md:
// title, why, fix, thresholds and where they come from) and facts for which it
// fires and for which it keeps quiet.
package rules

import (
	"cmp"
	"embed"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Rule is one diagnosis.
type Rule struct {
	ID    string
	Title string // of rule.md
	Text  string // of rule.md, all of it behind the title
	check func(*Facts) *hit
}

// hit is what a rule found.
type hit struct {
	severity finding.Severity
	evidence []finding.Evidence
	fix      string
	verify   string
}

// checks are the rules' code, in the order in which they explain: where the
// first of two says why, the second need not.
var checks = []struct {
	id    string
	check func(*Facts) *hit
}{
	{"crash-quota", crashQuota},
	{"oom-kills", oomKills},
	{"gomemlimit-above-limit", memlimitAbove},
	{"gogc-off", gogcOff},
	{"gomemlimit-near-live", memlimitNearLive},
	{"non-go-memory", nonGoMemory},
	{"gomemlimit-missing", memlimitMissing},
	{"gc-cpu", gcCPU},
	{"gated-off", gatedOff},
	{"ancestor-ignored", ancestorIgnored},
	{"stale-procs", staleProcs},
	{"procs-above-quota", procsAboveQuota},
	{"procs-above-affinity", procsAboveAffinity},
	{"over-size", overSize},
	{"procs-too-few", procsTooFew},
	{"procs-held", procsHeld},
	{"neighbours", neighbours},
	{"throttled-fit", throttledFit},
	{"sub-core-quota", subCoreQuota},
}

//go:embed */rule.md
var texts embed.FS

// All are the rules, in the order in which they explain.
func All() []Rule { return slices.Clone(known()) }

// known are the rules; a process is checked again and again, their texts do not change.
var known = sync.OnceValue(func() []Rule {
	all := make([]Rule, 0, len(checks))
	for _, c := range checks {
		r := Rule{ID: c.id, check: c.check}
		text, _ := fs.ReadFile(texts, c.id+"/rule.md") // a test reads every one
		title, body, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		r.Title, r.Text = strings.TrimPrefix(title, "# "), strings.TrimSpace(body)+"\n"
		all = append(all, r)
	}
	return all
})

// Check is what is wrong, the worst first.
func Check(f *Facts) []finding.Finding {
	found := []finding.Finding{}
	for _, r := range known() {
		h := r.check(f)
		if h == nil {
			continue
		}
		if h.evidence == nil {
			h.evidence = []finding.Evidence{}
		}
		found = append(found, finding.Finding{
			ID: r.ID, Severity: h.severity, Title: r.Title, Target: f.Target, Evidence: h.evidence, Fix: h.fix, Verify: h.verify,
		})
	}
	slices.SortStableFunc(found, func(a, b finding.Finding) int {
		return cmp.Compare(b.Severity.Level(), a.Severity.Level())
	})
	return found
}

// bench is the command that compares values of a knob for this program, to be
// completed by its arguments, which nobody has read, and the address of a service.
func (f *Facts) bench(flags string) string {
	program := f.Program
	if program == "" {
		program = "PROGRAM"
	}
	s := "snug bench"
	if q := num(f.Quota); q > 0 {
		s += " --cpus " + number(q)
	}
	if m := num(f.MemHard); m > 0 {
		s += " --memory " + units.GoMebibytes(int64(m))
	}
	return s + " " + flags + " [--url URL] -- " + program + " ARG..."
}

func number(v float64) string { return units.Exact(math.Round(v*100) / 100) }

func whole(v float64) string { return units.Exact(math.Round(v)) }
