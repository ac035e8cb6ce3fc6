// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers is the import direction, a statement of policy: in "a < b" b may
// import a, directly or through what stands between. A package that is not named
// here may import nothing of snug and be imported by nothing.
// DO NOT CHANGE IT TO FIX A BUILD.
const layers = `
NONE < cgroup < limits < plan < apply < fit < follow < auto
follow, limits, plan, apply, fit < snug
follow, cgroup, limits, plan, apply, fit, law, sense < watch
law < sense
limits, plan, apply, fit, follow, law, watch, snug < adapt
limits, plan, apply, fit, follow, law, watch < adapt/auto
NONE < law
law < simulator
cgroup < agent, collect
inherit, cgroup, limits < cgrun
NONE < limiter, fixture, oracle
limits, plan, fixture < collect
NONE < finding, load, stats, proc, gobin, cpuprof, bounded, golog, promtext, exectrace, vet, oldgo, inherit, quantity, podid, cert, rest
proc, gobin < goproc
finding < rules
limiter < workload
finding < report, top
vet, bounded < envfiles
plan, stats, finding < experiment < search
finding, stats, cgrun, load, workload, exectrace, experiment < runner
limits, plan, fit, follow, watch, stats, fixture, finding, report, cgrun, inherit, goproc, collect, load, experiment, search, runner, workload < cli < main
limits, plan < podpatch
envfiles, podpatch < manifest
limits, plan, finding, vet, podpatch, manifest, quantity < lint
plan, podpatch < policy
limits, quantity, podid, podpatch, policy < review
plan, podpatch < learned
promtext, cert, rest, review, policy, learned, podpatch < webhook
limits, report, goproc, rules, finding, proc < look
podid, rest, look, promtext, limits, report, goproc, rules, finding, proc < agent
bounded < image
proc, gobin, cpuprof, bounded, golog, promtext, rules, exectrace, top, vet, envfiles, podpatch, manifest, lint, image, policy, snug, review, cert, rest, learned, webhook, look, agent < cli
cgrun, load, workload < main
`

// pure packages decide; they see neither the machine nor the time.
var pure = []string{"cgroup", "plan", "law", "simulator", "stats", "rules"}
var impure = []string{"os", "net", "runtime", "time", "syscall", "os/exec", "net/http"}

// noPrinting: what is linked into other people's programs brings no printing.
var noPrinting = []string{"cgroup", "limits", "plan", "apply", "law", "sense", "fit", "follow", "watch", "adapt", "adapt/auto", "snug", "auto", "limiter"}

func TestImportDirection(t *testing.T) {
	may := map[string]map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(layers), "\n") {
		sides := strings.Split(line, "<")
		for i := 1; i < len(sides); i++ {
			for _, upper := range words(sides[i]) {
				if may[upper] == nil {
					may[upper] = map[string]bool{}
				}
				for _, lower := range words(strings.Join(sides[:i], ",")) {
					may[upper][lower] = true
				}
			}
		}
	}
	checked := 0
	for _, dir := range []string{".", "cmd/snug"} {
		for _, p := range packages(t, dir) {
			name := short(p.ImportPath)
			allowed, named := may[name]
			if !named {
				t.Errorf("%s is not in the layers of this test", p.ImportPath)
				continue
			}
			checked++
			for _, imp := range p.Imports {
				if strings.HasPrefix(imp, "github.com/snug-go/snug") && !allowed[short(imp)] {
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

// TestLight: programs with snug or auto do not carry what measures, nor encoding/json; those
// with adapt measure.
func TestLight(t *testing.T) {
	heavy := []string{"internal/watch", "internal/law", "internal/sense", "runtime/metrics", "encoding/json"}
	for _, c := range []struct {
		path string
		want []string // of heavy
	}{
		{".", nil},
		{"./auto", nil},
		{"./limiter", nil},
		{"./adapt", heavy[:4]},
		{"./adapt/auto", heavy[:4]},
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
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// short is a package's name in layers.
func short(path string) string {
	switch path {
	case "github.com/snug-go/snug/cmd/snug":
		return "main"
	case "github.com/snug-go/snug/adapt/auto":
		return "adapt/auto"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

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
			return nil // only go.work joins the modules before a release
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

// TestNoRequirements: who imports the library gets the library, nothing else.
func TestNoRequirements(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^\s*(require|replace|tool|toolchain)\b.*`).Find(mod); m != nil {
		t.Errorf("go.mod: %s", m)
	}
}

// TestFileLengths: a file that grows past this wants splitting.
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
