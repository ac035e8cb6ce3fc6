// SPDX-License-Identifier: Apache-2.0

// Package programs builds the tool, and the probe with several Go toolchains, go lines and
// libraries. All are static programs.
package programs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Kind names the libraries that the probe links.
type Kind string

const (
	Plain Kind = "plain" // nothing
	Auto  Kind = "auto"  // snug/auto
	// These link automaxprocs and automemlimit as well:
	Peers  Kind = "peers"  // all by blank import, in the linker's order
	Before Kind = "before" // snug before the peers
	After  Kind = "after"  // snug after the peers
)

var tags = map[Kind]string{Plain: "", Auto: "auto", Peers: "auto,peers", Before: "before", After: "after"}

// Program is one build of the probe.
type Program struct {
	Toolchain string // "go1.26.8"
	Line      string // the go line of its go.mod
	Kind      Kind
	// Default is the "godebug default" of its go.mod; "" = none. A module that requires snug needs
	// a go line of 1.23 or later; with Default its runtime behaves like that of an older go line.
	Default string
	Arch    string // GOARCH; "" = this machine's
}

// Name returns a unique name.
func (p Program) Name() string {
	line := "line" + p.Line
	if p.Default != "" {
		line += "-default" + strings.TrimPrefix(p.Default, "go")
	}
	name := p.Toolchain + "-" + line + "-" + string(p.Kind)
	if p.Arch != "" {
		name += "-" + p.Arch
	}
	return name
}

// ReadsQuota reports whether the program's runtime follows the CPU quota: Go 1.25 and later, unless
// the go line or GODEBUG default is older.
func (p Program) ReadsQuota() bool {
	old := func(v string) bool {
		return strings.HasPrefix(v, "1.21") || strings.HasPrefix(v, "1.22") || strings.HasPrefix(v, "1.23") || strings.HasPrefix(v, "1.24")
	}
	return !old(strings.TrimPrefix(p.Toolchain, "go")) && !old(p.Line) && !old(strings.TrimPrefix(p.Default, "go"))
}

// LinksSnug reports whether the program links snug.
func (p Program) LinksSnug() bool { return p.Kind != Plain }

// LinksPeers reports whether the program links automaxprocs and automemlimit too.
func (p Program) LinksPeers() bool { return p.Kind != Plain && p.Kind != Auto }

// Toolchains lists the Go releases that build the probe.
var Toolchains = []string{"go1.24.13", "go1.26.8", "go1.27.3"}

// All returns the plain and auto builds (every toolchain with each of the go lines 1.21, 1.24 and
// 1.26 that it accepts), and the builds with peers.
func All() []Program {
	var all []Program
	for _, toolchain := range Toolchains {
		all = append(all,
			Program{Toolchain: toolchain, Line: "1.21", Kind: Plain},
			Program{Toolchain: toolchain, Line: "1.23", Kind: Auto, Default: "go1.21"})
		for _, line := range []string{"1.24", "1.26"} {
			if toolchain == "go1.24.13" && line == "1.26" {
				continue // the go command refuses it
			}
			all = append(all,
				Program{Toolchain: toolchain, Line: line, Kind: Plain},
				Program{Toolchain: toolchain, Line: line, Kind: Auto})
		}
		newest := "1.26"
		if toolchain == "go1.24.13" {
			newest = "1.24"
		}
		all = append(all,
			Program{Toolchain: toolchain, Line: newest, Kind: Peers},
			Program{Toolchain: toolchain, Line: newest, Kind: Before},
			Program{Toolchain: toolchain, Line: newest, Kind: After})
	}
	return all
}

// Few returns the programs that differ most: a runtime without support for quotas, one with the
// support off, and one with the support on, with and without snug.
func Few() []Program {
	return []Program{
		{Toolchain: "go1.24.13", Line: "1.24", Kind: Auto},
		{Toolchain: "go1.26.8", Line: "1.21", Kind: Plain},
		{Toolchain: "go1.26.8", Line: "1.26", Kind: Plain},
		{Toolchain: "go1.26.8", Line: "1.26", Kind: Auto},
	}
}

// Build builds the programs and the tool into dir, unless they exist, and returns their paths by
// name. The tool's name is "snug".
func Build(t testing.TB, dir string, programs []Program) map[string]string {
	t.Helper()
	root := Root(t)
	paths := map[string]string{"snug": filepath.Join(dir, "snug")}
	for _, p := range programs {
		paths[p.Name()] = filepath.Join(dir, p.Name())
	}
	var wg sync.WaitGroup
	slots := make(chan bool, 2)
	start := func(to string, do func() error) {
		if _, err := os.Stat(to); err == nil {
			return
		}
		wg.Go(func() {
			slots <- true
			defer func() { <-slots }()
			if err := do(); err != nil {
				t.Error(err)
			}
		})
	}
	start(paths["snug"], func() error { return BuildTool(root, paths["snug"]) })
	for _, p := range programs {
		start(paths[p.Name()], func() error { return p.build(root, paths[p.Name()]) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return paths
}

// Root returns the directory of the library's module.
func Root(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/snug-go/snug").Output()
	if err != nil {
		t.Fatalf("find the module's root: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// BuildTool builds cmd/snug of this tree.
func BuildTool(root, to string) error {
	return goBuild(filepath.Join(root, "cmd", "snug"), to, nil)
}

// BuildSmall builds snug-run of this tree into dir.
func BuildSmall(t testing.TB, dir string) {
	t.Helper()
	if err := goBuild(filepath.Join(Root(t), "cmd", "snug", "snug-run"), filepath.Join(dir, "snug-run"), nil); err != nil {
		t.Fatal(err)
	}
}

// BuildToolFor builds cmd/snug of this tree for a GOARCH and returns its path.
func BuildToolFor(t testing.TB, arch string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "snug")
	if err := goBuild(filepath.Join(Root(t), "cmd", "snug"), to, []string{"GOARCH=" + arch}); err != nil {
		t.Fatal(err)
	}
	return to
}

// build builds the probe's sources in a module of their own with the program's go line.
func (p Program) build(root, to string) error {
	dir, err := os.MkdirTemp("", "snug-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := p.module(root, dir); err != nil {
		return err
	}
	env := []string{"GOWORK=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=" + p.Toolchain}
	if p.Arch != "" {
		env = append(env, "GOARCH="+p.Arch)
	}
	return goBuild(dir, to, env, "-tags", tags[p.Kind])
}

// module writes the sources and a go.mod with the versions of e2e's go.mod.
func (p Program) module(root, dir string) error {
	sources, err := filepath.Glob(filepath.Join(root, "e2e", "fit", "probe", "*.go"))
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("the probe's sources: %d found, %w", len(sources), err)
	}
	for _, from := range append(sources, filepath.Join(root, "e2e", "go.sum")) {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), text, 0o644); err != nil {
			return err
		}
	}
	var mod bytes.Buffer
	fmt.Fprintf(&mod, "module probe\n\ngo %s\n", p.Line)
	if p.Default != "" {
		fmt.Fprintf(&mod, "\ngodebug default=%s\n", p.Default)
	}
	if p.Kind != Plain {
		// Required without go.work, as users do; only replace differs.
		fmt.Fprintf(&mod, "\nrequire github.com/snug-go/snug v0.0.0\n\nreplace github.com/snug-go/snug => %s\n", root)
	}
	if p.LinksPeers() {
		requires, err := requirements(root, "github.com/KimMachineGun/automemlimit", "github.com/pbnjay/memory", "go.uber.org/automaxprocs")
		if err != nil {
			return err
		}
		mod.WriteString(requires)
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), mod.Bytes(), 0o644)
}

// requirements returns require lines with the versions of e2e's go.mod.
func requirements(root string, paths ...string) (string, error) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root, "e2e")
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, path := range paths {
		for _, r := range mod.Require {
			if r.Path == path {
				fmt.Fprintf(&b, "\nrequire %s %s\n", r.Path, r.Version)
			}
		}
	}
	return b.String(), nil
}

func goBuild(dir, to string, env []string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", to}, flags...)
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", filepath.Base(to), err, out)
	}
	return nil
}
