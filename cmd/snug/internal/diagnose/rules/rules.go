// SPDX-License-Identifier: Apache-2.0

// Package rules says what is wrong with a Go process, and what to do about it.
// A rule is a pure function of Facts. Its folder holds rule.md (title, cause, fix,
// thresholds and their sources), facts for which it fires (fires.json), and facts for
// which it does not (quiet.json).
package rules

import (
	"cmp"
	"embed"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Rule is one diagnosis.
type Rule struct {
	ID    string
	Title string // of rule.md
	Text  string // of rule.md, everything after the title
	check func(*Facts) *result
}

// result is what a rule found.
type result struct {
	severity finding.Severity
	evidence []finding.Evidence
	fix      string
	verify   string
}

// checks lists the code of the rules in reporting order: causes come before their
// consequences.
var checks = []struct {
	id    string
	check func(*Facts) *result
}{
	{"crash-quota", crashQuota},
	{"gomemlimit-above-limit", memlimitAbove},
	{"gogc-off", gogcOff},
	{"finalizers-behind", finalizersBehind},
	{"timers-kept", timersKept},
	{"memory-growth", memoryGrowth},
	{"thread-growth", threadGrowth}, // each may keep a goroutine
	{"goroutine-growth", goroutineGrowth},
	{"gomemlimit-near-live", memlimitNearLive},
	{"non-go-memory", nonGoMemory},
	{"gomemlimit-missing", memlimitMissing},
	{"oom-kills", oomKills},
	{"gated-off", gatedOff},
	{"ancestor-ignored", ancestorIgnored},
	{"stale-procs", staleProcs},
	{"procs-above-quota", procsAboveQuota},
	{"procs-above-affinity", procsAboveAffinity},
	{"procs-injected", procsInjected},
	{"gc-cpu", gcCPU},
	{"sched-cpu", duty(scheduling)},
	{"lock-cpu", duty(locking)},
	{"lock-wait", lockWait},
	{"stack-cpu", duty(stackGrowth)},
	{"syscall-cpu", duty(systemCalls)},
	{"over-size", overSize},
	{"procs-too-few", procsTooFew},
	{"procs-held", procsHeld},
	{"procs-queue", procsQueue},
	{"neighbours", neighbours},
	{"throttled-fit", throttledFit},
	{"sub-core-quota", subCoreQuota},
}

//go:embed */rule.md
var texts embed.FS

// All returns the rules in reporting order.
func All() []Rule { return slices.Clone(known()) }

// known returns the rules. It reads their texts once, because Check runs often and the
// texts do not change.
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

// Check returns the findings for f, the worst first.
func Check(f *Facts) []finding.Finding {
	found := []finding.Finding{}
	for _, r := range known() {
		res := r.check(f)
		if res == nil {
			continue
		}
		if res.evidence == nil {
			res.evidence = []finding.Evidence{}
		}
		found = append(found, finding.Finding{
			ID: r.ID, Severity: res.severity, Title: r.Title, Target: f.Target,
			Evidence: res.evidence, Fix: res.fix, Verify: res.verify,
		})
	}
	slices.SortStableFunc(found, func(a, b finding.Finding) int { return cmp.Compare(rank(&b), rank(&a)) })
	return found
}

// rank returns how far up a finding is: by its severity. What others do to the program comes after what it does
// itself, and a limit that nothing comes near after what costs CPU time now.
func rank(f *finding.Finding) int {
	switch level := finding.SeverityInfo.Level(); {
	case f.ID == "neighbours":
		return 2 * level
	case f.ID == "gomemlimit-missing" && f.Severity == finding.SeverityInfo:
		return 2*level - 1
	}
	return 2 * f.Severity.Level()
}

// bench returns the command that compares values of a setting for this program. It has neither the
// program's arguments, which snug does not read, nor the address of a service; the text for people
// says so.
func (f *Facts) bench(flags string) string {
	program := message.Quote(f.Program)
	if f.Program == "" {
		program = "PROGRAM"
	}
	s := "snug bench"
	if q := num(f.Quota); q > 0 {
		s += " --cpus " + number(q)
	}
	if m := num(f.MemHard); m > 0 {
		s += " --memory " + units.GoMebibytes(int64(m))
	}
	return s + " " + flags + " -- " + program
}

func number(v float64) string { return units.Exact(math.Round(v*100) / 100) }

func whole(v float64) string { return units.Exact(math.Round(v)) }
