// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers is the import direction, a statement of policy: in "a < b" b may import a and
// everything below a. "a/" is every package in folder a, whose internal imports have lines
// of their own. A package not named here may neither import snug's packages nor be imported by
// them.
// DO NOT CHANGE IT TO FIX A BUILD.
const layers = `
The library:
NONE < cgroup < limits < plan < apply < fit < follow < auto
law < follow
follow, limits, plan, apply, fit < snug
law, limits < sense
limits, plan, law, sense, follow < measure
limits, plan, apply, fit, follow, law, measure, snug < adapt
limits, plan, apply, fit, follow, measure < adapt/auto
NONE < law
NONE < limiter, fixture, oracle, deploy/helm/snug/files

The tool, group by group:
NONE < vet, message, profile/
plan < flagvalue, goenv, report/units
plan, flagvalue < option
plan < process/
message, report/units, vet < source/
limits < figure < process/, profile/promtext, report/, diagnose/, cluster/agent/snapshot, cluster/agent/scan, cluster/agent/keep, cluster/agent/serve, cluster/needs, cluster/fleet, cli/
limits < process/goproc
message, report/finding, report/units < report/metric < report/content < report/chart
message, report/finding, report/units, report/metric, report/content < report/text < report
message, report/finding, report/units, report/metric, report/content, report/chart, profile/cpuprof < report/page
report/finding, report/text < report/reporttest
limits, message, report/finding, report/units, process/, profile/, source/bounded, source/remote < diagnose/
cgroup, limits, plan, fixture < diagnose/collect
plan < diagnose/size, diagnose/rules
cluster/podid < diagnose/observe
cgroup, limits, plan, limiter, message, flagvalue, goenv, report/finding, report/units, report/metric, process/, profile/exectrace, profile/gobench, profile/golog, source/bounded, source/outfile < prove/
cgroup, limits, plan, message, report/finding, report/units, vet, source/, profile/promtext < cluster/
process/, diagnose/ < cluster/agent/snapshot, cluster/agent/scan, cluster/agent/keep
report/page, process/proc, diagnose/observe < cluster/agent/serve
process/proc < cluster/agent
diagnose/, cluster/, vet, report/finding < cli/explain
limits, plan, fit, follow, measure, snug, fixture, vet, message, flagvalue, option, goenv, process/, profile/, source/, diagnose/, prove/, cluster/, report/ < cli/ < main
prove/ < main
prove/, cli/ui < snug-run

Inside the groups:
process/proc, process/gobin < process/goproc
process/proc, process/gobin, profile/heldprof < process/holders
NONE < process/oldgo, process/goprogram
source/bounded < source/envfiles, source/govet, source/remote
source/outfile < source/govet
diagnose/rules < diagnose/observe < diagnose/examine < diagnose/top
diagnose/size < diagnose/examine, prove/lab
prove/cgrun < prove/load < prove/workload
prove/stats < prove/experiment < prove/search
prove/stats, prove/cgrun, prove/load, prove/workload, prove/experiment < prove/runner
prove/stats, prove/cgrun, prove/gotest, prove/workload, prove/experiment, prove/search, prove/runner, report/content < prove/lab
cluster/podpatch < cluster/policy, cluster/learned
cluster/quantity, cluster/podid, cluster/podpatch, cluster/policy < cluster/pod
deploy/helm/snug/files < cluster/policy, cluster/webhook
cluster/podpatch, cluster/pod < cluster/manifest
cluster/podpatch, cluster/pod, cluster/manifest, cluster/quantity < cluster/lint
cluster/podpatch, cluster/manifest, cluster/lint < cluster/linter
cluster/quantity, cluster/podpatch, cluster/policy, cluster/pod < cluster/review
cluster/cert, cluster/rest, cluster/review, cluster/policy, cluster/learned, cluster/podpatch, cluster/bound < cluster/webhook
NONE < cluster/bound
cluster/rest, cluster/bound < cluster/guard
diagnose/size < cluster/needs < cluster/fleet
cluster/needs < cluster/agent/snapshot < cluster/agent/keep, cluster/agent/scan, cluster/agent/serve < cluster/agent
cluster/pod, cluster/podid, cluster/rest < cluster/agent/names
NONE < cluster/agent/tree
cluster/podid, cluster/agent/names, cluster/agent/tree < cluster/agent/scan
cluster/guard, cluster/bound < cluster/agent/serve
cluster/agent/snapshot, cluster/guard < cluster/agent
cli/ui < cli/usage < cli/fit < cli/small < snug-run
cli/ui < cli/fit
cli/ui, cli/root < cli/small
cli/ui, cli/usage, cli/explain < cli/look, cli/prove, cli/source, cli/cluster
cli/ui, cli/usage, cli/explain, cli/root, cli/fit, cli/look, cli/prove, cli/source, cli/cluster < cli
cli/ui, cli/usage < cli/root
`

// pure packages decide; they access neither the machine nor the clock.
var pure = []string{"cgroup", "plan", "law", "prove/stats", "diagnose/rules", "diagnose/size"}
var impure = []string{"os", "net", "runtime", "time", "syscall", "os/exec", "net/http"}

// noPrinting packages are linked into other programs: no fmt, log or encoding/json.
var noPrinting = []string{"cgroup", "limits", "plan", "apply", "law", "sense", "fit", "follow", "measure", "adapt", "adapt/auto", "snug", "auto", "limiter"}

func TestImportDirection(t *testing.T) {
	type arrow struct{ upper, lower string }
	var may []arrow
	named := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(layers), "\n") {
		sides := strings.Split(line, "<")
		for i := 1; i < len(sides); i++ {
			for _, upper := range words(sides[i]) {
				named[upper] = true
				for _, lower := range words(strings.Join(sides[:i], ",")) {
					may = append(may, arrow{upper, lower})
				}
			}
		}
	}
	allowed := func(upper, lower string) bool {
		return slices.ContainsFunc(may, func(a arrow) bool {
			if !in(upper, a.upper) || !in(lower, a.lower) {
				return false
			}
			inside := strings.HasSuffix(a.upper, "/") && in(lower, a.upper)
			return !inside
		})
	}
	checked := 0
	for _, dir := range []string{".", "cmd/snug"} {
		for _, p := range packages(t, dir) {
			name := short(p.ImportPath)
			if !named[name] && !named[folder(name)] {
				t.Errorf("%s is not in the layers of this test", p.ImportPath)
				continue
			}
			checked++
			for _, imp := range p.Imports {
				if strings.HasPrefix(imp, module) && !allowed(name, short(imp)) {
					t.Errorf("%s imports %s", p.ImportPath, imp)
				}
				if slices.Contains(pure, name) && slices.Contains(impure, imp) {
					t.Errorf("%s imports %s: it decides, and depends on nothing but its input", p.ImportPath, imp)
				}
				if slices.Contains(noPrinting, name) && slices.Contains([]string{"fmt", "log", "log/slog", "encoding/json"}, imp) {
					t.Errorf("%s imports %s: every program that imports snug would carry it", p.ImportPath, imp)
				}
			}
		}
	}
	if checked < 6 {
		t.Errorf("checked %d packages, want all of them", checked)
	}
}

// TestLight: programs with snug or auto link neither the measuring packages nor encoding/json, and nothing that
// measures of packages follow and law; those with adapt measure.
func TestLight(t *testing.T) {
	heavy := []string{"internal/measure", "internal/sense", "runtime/metrics", "encoding/json"}
	for _, c := range []struct {
		path string
		want []string // of heavy
	}{
		{".", nil},
		{"./auto", nil},
		{"./limiter", nil},
		{"./adapt", heavy[:3]},
		{"./adapt/auto", heavy[:3]},
	} {
		out, err := exec.Command("go", "list", "-deps", c.path).Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		var got []string
		for _, name := range heavy {
			if slices.ContainsFunc(deps, func(d string) bool { return strings.TrimPrefix(d, "github.com/snug-go/snug/") == name }) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s links %q, want %q", c.path, got, c.want)
		}
	}
	if testing.Short() {
		return
	}
	exe := filepath.Join(t.TempDir(), "program")
	for _, c := range []struct {
		program  string
		measures bool
	}{{"following", false}, {"adapting", true}} {
		if out, err := exec.Command("go", "build", "-o", exe, "./testdata/"+c.program).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command("go", "tool", "nm", exe).Output()
		found := regexp.MustCompile(`law\.Step[^G]\w*|follow\.\(\*Measuring\)\.\w+`).Find(out)
		if err != nil || !strings.Contains(string(out), "follow.(*Loop).run") || (found != nil) != c.measures {
			t.Errorf("%s: %v, links %s", c.program, err, found)
		}
	}
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

const module = "github.com/snug-go/snug"

// short returns a package's name in layers: its path without the common prefix.
func short(path string) string {
	switch path {
	case module:
		return "snug"
	case module + "/cmd/snug":
		return "main"
	}
	path = strings.TrimPrefix(path, module+"/")
	path = strings.TrimPrefix(path, "cmd/snug/")
	return strings.TrimPrefix(path, "internal/")
}

// folder returns the folder a package is in, as written in layers.
func folder(name string) string {
	dir, _, _ := strings.Cut(name, "/")
	return dir + "/"
}

// in reports whether a package is the one named, or is in that folder.
func in(name, of string) bool { return name == of || folder(name) == of }

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T, dir string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if dir != "." && strings.Contains(os.Getenv("GOWORK"), "off") {
			return nil // before a release only go.work joins the modules
		}
		t.Fatalf("go list in %s: %v\n%s", dir, err, stderr.String())
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestNoRequirements: importing the library adds no other module.
func TestNoRequirements(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^\s*(require|replace|tool|toolchain)\b.*`).Find(mod); m != nil {
		t.Errorf("go.mod: %s", m)
	}
}

// TestFileLengths: a file longer than this should be split.
func TestFileLengths(t *testing.T) {
	const most = 450
	files := 0
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if n := strings.Count(string(text), "\n"); n > most {
			t.Errorf("%s has %d lines, more than %d", path, n, most)
		}
		if !strings.HasPrefix(string(text), "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s does not say its licence", path)
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}

// mostLines holds the most lines of product code in each group, by the beginning of the path; the longest that fits counts.
// Raise a number only in a commit of its own that says what was given in return.
var mostLines = map[string]int{
	"":                            14056, // the library
	"contrib/":                    753,
	"cmd/snug/":                   650,
	"cmd/snug/vet/":               3089,
	"cmd/snug/internal/cli/":      8660,
	"cmd/snug/internal/cluster/":  19245,
	"cmd/snug/internal/diagnose/": 8687,
	"cmd/snug/internal/process/":  9738,
	"cmd/snug/internal/profile/":  6008,
	"cmd/snug/internal/prove/":    19895,
	"cmd/snug/internal/report/":   12826,
	"cmd/snug/internal/source/":   2577,
}

// maxColumns is the longest line of product code, in bytes. A tab is one.
const maxColumns = 120

// TestLines counts all Go files but tests, testdata, e2e and experiments.
func TestLines(t *testing.T) {
	got := map[string]int{}
	err := filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() && (name == "e2e" || name == "experiments" || d.Name() == "testdata" || len(name) > 1 && strings.HasPrefix(d.Name(), ".")) {
			return cmp.Or(err, filepath.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		group := ""
		for g := range mostLines {
			if strings.HasPrefix(name, g) && len(g) > len(group) {
				group = g
			}
		}
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > maxColumns {
				t.Errorf("%s:%d: %d columns", name, i+1, len(line))
			}
		}
		got[group] += strings.Count(string(text), "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all, most := 0, 0
	for group, max := range mostLines {
		all, most = all+got[group], most+max
		if n := got[group]; n > max || n == 0 {
			t.Errorf("%q: %d lines, want at most %d", group, n, max)
		}
	}
	t.Logf("%d of at most %d lines", all, most)
}
