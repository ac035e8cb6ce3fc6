// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

type fixture struct {
	Situation string           `json:"situation"`
	Facts     rules.Facts      `json:"facts"`
	Severity  finding.Severity `json:"severity"`
	Fix       string           `json:"fix"` // a part of it
}

func fixtures(t *testing.T, file string) []fixture {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	if err := json.Unmarshal(text, &all, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.UnmarshalFunc(readFigure))); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// readFigure reads a figure of a situation: {"v":2,"source":"cpu.max","raw":"200000 100000"}, {"none":true}
// or {"why":"permission denied"}.
func readFigure(text []byte, f *figure.Of[float64]) error {
	var j struct {
		V      *float64 `json:"v"`
		None   bool     `json:"none"`
		Source string   `json:"source"`
		Raw    string   `json:"raw"`
		Why    string   `json:"why"`
	}
	if err := json.Unmarshal(text, &j, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*f = figure.Of[float64]{Source: j.Source, Raw: j.Raw, Why: j.Why}
	switch {
	case j.V != nil:
		f.N, f.State = *j.V, limits.Known
	case j.None:
		f.State = limits.None
	}
	return nil
}

// TestFixtures checks that each rule fires for fires.json and not for quiet.json.
func TestFixtures(t *testing.T) {
	for _, r := range rules.All() {
		fires, quiet := fixtures(t, filepath.Join(r.ID, "fires.json")), fixtures(t, filepath.Join(r.ID, "quiet.json"))
		if len(fires) == 0 || len(quiet) == 0 {
			t.Errorf("%s: %d situations in which it fires, %d in which it does not", r.ID, len(fires), len(quiet))
		}
		find := func(f *fixture) *finding.Finding {
			found := rules.Check(&f.Facts)
			i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.ID == r.ID })
			if i < 0 {
				return nil
			}
			return &found[i]
		}
		for _, f := range fires {
			got := find(&f)
			if got == nil {
				t.Errorf("%s, %s: quiet", r.ID, f.Situation)
				continue
			}
			if got.Severity != f.Severity || !strings.Contains(got.Fix, f.Fix) || got.Target != f.Facts.Target || got.Fix == "" {
				t.Errorf("%s, %s: %+v, want %s and a fix with %q", r.ID, f.Situation, got, f.Severity, f.Fix)
			}
			if len(got.Evidence) == 0 {
				t.Errorf("%s, %s: no evidence", r.ID, f.Situation)
			}
			for _, text := range []string{got.Fix, got.Verify} {
				if strings.Contains(text, "NaN") || strings.Contains(text, "-9223") {
					t.Errorf("%s, %s: %q", r.ID, f.Situation, text)
				}
			}
			// A shell takes it as it is: no brackets, no ellipsis.
			if strings.ContainsAny(got.Verify, "[]<>|") || strings.Contains(got.Verify, "...") {
				t.Errorf("%s, %s: not a command: %q", r.ID, f.Situation, got.Verify)
			}
		}
		for _, f := range quiet {
			if got := find(&f); got != nil {
				t.Errorf("%s, %s: %+v, want quiet", r.ID, f.Situation, got)
			}
		}
	}
}

// TestFolders checks that each rule has a folder with its text, and each folder a rule.
func TestFolders(t *testing.T) {
	all := rules.All()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" && !slices.ContainsFunc(all, func(r rules.Rule) bool { return r.ID == e.Name() }) {
			t.Errorf("%s has no rule", e.Name())
		}
	}
	for _, r := range all {
		if r.Title == "" || !strings.Contains(r.Text, "\n\nFix: ") || !strings.Contains(r.Text, "\n\nThresholds: ") {
			t.Errorf("%s/rule.md: title %q, want a title, a fix and thresholds", r.ID, r.Title)
		}
	}
	if len(all) < 15 {
		t.Errorf("%d rules", len(all))
	}
}

var update = flag.Bool("update", false, "write README.md and testdata anew")

// TestPage checks that README.md is up to date.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What `snug doctor` finds\n\nMade from the folders beside it by `go test ./cmd/snug/internal/diagnose/rules -update`.\n\n")
	for _, r := range rules.All() {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", r.ID, r.ID, r.Title)
	}
	for _, r := range rules.All() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s.**\n\n%s", r.ID, r.Title, r.Text)
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile("README.md"); err != nil || string(page) != b.String() {
		t.Errorf("README.md is stale (%v): go test ./cmd/snug/internal/diagnose/rules -update", err)
	}
}

// TestUnknown checks that unknown facts give no findings, and that no odd figure makes a rule crash
// or print nonsense.
func TestUnknown(t *testing.T) {
	if found := rules.Check(&rules.Facts{Target: "x"}); len(found) != 0 || found == nil {
		t.Errorf("of nothing: %+v", found)
	}
	odd := []float64{0, -1, 1, 0.5, 2, 1e18, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, a := range odd {
		for _, b := range odd {
			x, y := figure.New(a, ""), figure.New(b, "")
			f := &rules.Facts{
				Procs: x, GOGC: y, MemLimit: x, Live: y, Goal: x, Mapped: y, Quota: y, OwnQuota: x, Cores: y, CPUs: x, Crashes: x,
				MemHard: y, MemUsed: x, OOMKills: y, Seconds: x, Used: y, KernelWait: x, Idle: y, Throttled: y, Ever: x, Busy: x, Spinning: y,
				Cycles: x, GCCores: x, OverSize: y, GCShare: x, Sched: y, Timers: x, Locks: x, Stacks: y, Syscalls: y, Age: x, Kept: x, CallRate: x, CallBytes: y,
				LiveGrowth: &rules.Trend{PerSecond: 2, Min: 1, Max: 3}, ThreadGrowth: &rules.Trend{PerSecond: 2, Min: 1, Max: 3},
			}
			fields := reflect.ValueOf(f).Elem()
			for i := range fields.NumField() {
				dropped, ok := fields.Field(i).Interface().(figure.Of[float64])
				if !ok {
					continue
				}
				fields.Field(i).SetZero()
				for _, got := range rules.Check(f) {
					for _, e := range got.Evidence {
						if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) || strings.Contains(e.Source, "NaN") {
							t.Errorf("with %v and %v, without %s: %s: %+v", a, b, fields.Type().Field(i).Name, got.ID, e)
						}
					}
					if strings.Contains(got.Fix+got.Verify, "NaN") || strings.Contains(got.Fix+got.Verify, "Inf") {
						t.Errorf("with %v and %v, without %s: %+v", a, b, fields.Type().Field(i).Name, got)
					}
				}
				fields.Field(i).Set(reflect.ValueOf(dropped))
			}
		}
	}
}

// TestOneWarning: throttling and too many Ps are one warning with all three figures, whoever set the Ps.
func TestOneWarning(t *testing.T) {
	for id, by := range map[string]rules.Facts{
		"procs-above-quota": {ProcsBy: rules.ByHost, Minor: 22},
		"gated-off":         {ProcsBy: rules.ByHost, Minor: 26, Aware: new(bool)},
		"stale-procs":       {ProcsBy: rules.ByEnvironment, Minor: 26},
		"ancestor-ignored":  {ProcsBy: rules.ByRuntime, OwnQuota: figure.None[float64]("")},
	} {
		f := &by
		f.Procs, f.Quota, f.Cores, f.CPUs = figure.New(16.0, ""), figure.New(0.15, ""), figure.New(0.15, ""), figure.New(16.0, "")
		f.Ever, f.Used = figure.New(0.98, ""), figure.New(0.0, "")
		found := rules.Check(f)
		if len(found) != 1 || found[0].ID != id || found[0].Severity != finding.SeverityWarning {
			t.Errorf("%s: %+v, want it alone, as a warning", id, found)
			continue
		}
		for _, want := range []float64{16, 0.15, 0.98} {
			if !slices.ContainsFunc(found[0].Evidence, func(e finding.Evidence) bool { return e.Value == want }) {
				t.Errorf("%s: %v is not in %+v", id, want, found[0].Evidence)
			}
		}
	}
}

// TestHeldHolds: after the advice of procs-held nothing advises fewer Ps, while the same share of them is held.
func TestHeldHolds(t *testing.T) {
	num := func(v float64) figure.Of[float64] { return figure.New(v, "") }
	checked := 0
	for _, cores := range []float64{0.25, 0.5, 1, 1.5, 2} {
		for _, p := range []float64{1, 2, 3, 4, 8} {
			for _, held := range []float64{0.25, 0.5, 0.9} {
				for _, quota := range []figure.Of[float64]{num(cores), figure.None[float64]("")} {
					f := &rules.Facts{
						ProcsBy: rules.ByEnvironment, Procs: num(p), Quota: quota, Cores: num(cores), CPUs: num(math.Ceil(cores)), Busy: num(p), Spinning: num(0),
						Running: num(p * (1 - held)), Calling: num(p * held), Blocked: num(1 + p*held/2), AlwaysBlocked: num(1), Runnable: num(50 * p), Used: num(0.4 * min(p, cores)),
						Throttled: num(0.9), Ever: num(0.9), OverSize: num(0.15),
					}
					for _, found := range rules.Check(f) {
						if found.ID != "procs-held" {
							continue
						}
						rest, _ := strings.CutPrefix(found.Fix, "GOMAXPROCS=")
						n, err := strconv.ParseFloat(rest[:strings.Index(rest, ",")], 64)
						if err != nil {
							t.Fatalf("%q: %v", found.Fix, err)
						}
						g := *f
						g.Procs, g.Busy, g.Running, g.Calling, g.Blocked = num(n), num(n), num(n*(1-held)), num(n*held), num(1+n*held/2)
						for _, then := range rules.Check(&g) {
							if strings.HasPrefix(then.ID, "procs-above") || then.ID == "stale-procs" || strings.Contains(then.Fix, "GOMAXPROCS=1,") {
								t.Errorf("%v cores, %v Ps, held %v: %q, and then %s: %q", cores, p, held, found.Fix, then.ID, then.Fix)
							}
						}
						checked++
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("followed %d fixes only", checked)
	}
}

// TestNoGoal: a limit that is none is evidence, a heap goal that is none is not.
func TestNoGoal(t *testing.T) {
	f := &rules.Facts{Goal: figure.None[float64]("x"), MemLimit: figure.None[float64]("x")}
	if seen := f.Seen(); len(seen) != 1 || seen[0].What != "GOMEMLIMIT" {
		t.Errorf("%+v", seen)
	}
}

// TestFixesHold checks that following a fix does not lead to a contrary finding.
func TestFixesHold(t *testing.T) {
	const mib = 1 << 20
	checked := 0
	for _, hard := range []float64{128, 512, 2048} {
		for _, other := range []float64{0, 0.1, 0.3, 0.6} {
			for _, live := range []float64{0.05, 0.2, 0.4, 0.8} {
				for _, limit := range []float64{0, 0.5, 0.9, 1.5} {
					num := func(v float64) figure.Of[float64] {
						if v == 0 {
							return figure.None[float64]("")
						}
						return figure.New(v, "")
					}
					f := &rules.Facts{
						MemHard: num(hard * mib), MemUsed: num(hard * mib * min(1, other+live*1.2)), Mapped: num(hard * mib * live * 1.2),
						Live: num(hard * mib * live), Goal: num(hard * mib * live * 2), GOGC: num(100), MemLimit: num(limit * hard * mib),
					}
					for _, found := range rules.Check(f) {
						rest, ok := strings.CutPrefix(found.Fix, "GOMEMLIMIT=")
						if !ok {
							continue
						}
						size, _, _ := strings.Cut(rest, "MiB")
						n, err := strconv.Atoi(size)
						if err != nil {
							t.Fatalf("%q: %v", found.Fix, err)
						}
						g := *f
						g.MemLimit, g.Goal = num(float64(n)*mib), num(min(f.Goal.N, float64(n)*mib*0.97))
						for _, then := range rules.Check(&g) {
							if then.Severity.Level() > finding.SeverityInfo.Level() {
								t.Errorf("%v MiB, other %v, live %v, GOMEMLIMIT %v: %s says %q, and then %s says %q", hard, other, live, limit, found.ID, found.Fix, then.ID, then.Fix)
							}
						}
						checked++
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("followed %d fixes only", checked)
	}
}
