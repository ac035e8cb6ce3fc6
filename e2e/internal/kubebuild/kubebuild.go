// SPDX-License-Identifier: Apache-2.0

// Package kubebuild builds commands of published Go modules, as Kubernetes and
// Kyverno are, with no more than Go and a module proxy. They are built once and
// kept in the user's cache directory.
package kubebuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Source is a release of a module that has commands.
type Source struct {
	Module, Version string // "k8s.io/kubernetes", "v1.36.3"
	// Folder is where the commands are kept, below snug-kube in the user's cache
	// directory.
	Folder string
	// Packages are the import paths of the commands, by their names.
	Packages map[string]string
	LDFlags  string
	// Staged is the version that stands for the modules of the release's own
	// directories, to which its go.mod replaces them: a download does not bring
	// those. "" = there are none.
	Staged string
}

// building is held while commands are built: the linker alone takes 2 GB.
var building sync.Mutex

// Commands returns the paths of commands, in the order of their names. What is
// not there yet is built, which takes minutes, and logged.
func (s Source) Commands(t testing.TB, names ...string) []string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	b := builder{Source: s, dir: filepath.Join(cache, "snug-kube", s.Folder, runtime.GOOS+"-"+runtime.GOARCH)}
	b.say = func(format string, args ...any) {
		t.Helper()
		t.Logf(format, args...)
		// The log of a test is shown at its end; who waits wants to know now.
		fmt.Fprintf(os.Stderr, s.Module+": "+format+"\n", args...)
	}
	building.Lock()
	defer building.Unlock()
	var paths, missing []string
	for _, name := range names {
		path := filepath.Join(b.dir, name)
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, name)
		}
		paths = append(paths, path)
	}
	if len(missing) == 0 {
		return paths
	}
	if err := b.build(t.Context(), missing); err != nil {
		t.Fatalf("build of %s of %s %s: %v", strings.Join(missing, ", "), s.Module, s.Version, err)
	}
	return paths
}

// Downloaded returns the directory of a module's files, in Go's module cache.
func Downloaded(t testing.TB, module, version string) string {
	t.Helper()
	b := builder{work: t.TempDir()} // no module: it is required by none
	var got struct{ Dir string }
	if err := b.answer(t.Context(), &got, "go", "mod", "download", "-json", module+"@"+version); err != nil {
		t.Fatal(err)
	}
	return got.Dir
}

// builder makes commands below dir.
type builder struct {
	Source
	dir  string
	say  func(format string, args ...any)
	work string // a module that requires the source, while it builds
}

func (b *builder) build(ctx context.Context, names []string) (err error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	// Beside the results, so that they can be renamed into place: a command that
	// was cut off while it was written is never run.
	if b.work, err = os.MkdirTemp(b.dir, "build-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	b.say("building %s %s, once; minutes of CPU time", strings.Join(names, ", "), b.Version)
	if err := b.module(ctx, names); err != nil {
		return err
	}
	for _, name := range names {
		start := time.Now()
		if _, err := b.run(ctx, "go", "build", "-trimpath", "-ldflags", b.LDFlags, "-o", name, b.Packages[name]); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(b.work, name), filepath.Join(b.dir, name)); err != nil {
			return err
		}
		b.say("built %s in %v", name, time.Since(start).Round(time.Second))
	}
	return nil
}

// module writes a module that requires the source, and replaces what the
// source's own go.mod replaces: a go command heeds that of its main module alone.
func (b *builder) module(ctx context.Context, names []string) error {
	if err := b.write("go.mod", "module commands\n\ngo 1.26\n"); err != nil {
		return err
	}
	var got struct{ GoMod, Dir string }
	if err := b.answer(ctx, &got, "go", "mod", "download", "-json", b.Module+"@"+b.Version); err != nil {
		return err
	}
	var mod struct{ Replace []struct{ Old, New version } }
	if err := b.answer(ctx, &mod, "go", "mod", "edit", "-json", got.GoMod); err != nil {
		return err
	}
	edit := []string{"go", "mod", "edit", "-require=" + b.Module + "@" + b.Version}
	for _, r := range mod.Replace {
		to := r.New
		if strings.HasPrefix(to.Path, ".") {
			if b.Staged == "" {
				return fmt.Errorf("go.mod of %s %s replaces %s by a directory", b.Module, b.Version, r.Old.Path)
			}
			to = version{r.Old.Path, b.Staged}
		}
		edit = append(edit, "-replace="+r.Old.String()+"="+to.String())
	}
	if _, err := b.run(ctx, edit...); err != nil {
		return err
	}
	// The sums it was released with.
	sums, err := os.ReadFile(filepath.Join(got.Dir, "go.sum"))
	if err != nil {
		return err
	}
	if err := b.write("go.sum", string(sums)); err != nil {
		return err
	}
	var imports strings.Builder
	imports.WriteString("//go:build tools\n\npackage tools\n\nimport (\n")
	for _, name := range names {
		fmt.Fprintf(&imports, "\t_ %q\n", b.Packages[name])
	}
	imports.WriteString(")\n")
	if err := b.write("tools.go", imports.String()); err != nil {
		return err
	}
	_, err = b.run(ctx, "go", "mod", "tidy")
	return err
}

// version is a module as `go mod edit -json` shows it; without a Version it is
// every one of it.
type version struct{ Path, Version string }

func (v version) String() string {
	if v.Version == "" {
		return v.Path
	}
	return v.Path + "@" + v.Version
}

func (b *builder) write(name, text string) error {
	return os.WriteFile(filepath.Join(b.work, name), []byte(text), 0o644)
}

// answer runs a command that answers in JSON.
func (b *builder) answer(ctx context.Context, to any, args ...string) error {
	out, err := b.run(ctx, args...)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, to)
}

// run runs a command in the work directory and returns its standard output; the
// error carries the last of what it said on standard error.
func (b *builder) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = b.work
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0", "GO111MODULE=on")
	var said strings.Builder
	cmd.Stderr = &said
	// The compilers of a go command that was killed may keep its output open.
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		text := said.String()
		return out, fmt.Errorf("%s: %w\n%s", strings.Join(args[:min(3, len(args))], " "), err, text[max(0, len(text)-4000):])
	}
	return out, nil
}
