// SPDX-License-Identifier: Apache-2.0

// Package kubebuild builds commands of published Go modules, such as Kubernetes and Helm. It needs
// only Go and a module proxy. Each command is built once and kept in the user's cache directory.
package kubebuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Source is a release of a module with commands.
type Source struct {
	Module, Version string // "k8s.io/kubernetes", "v1.36.3"
	// Folder holds the commands, below snug-kube in the user's cache directory.
	Folder string
	// Packages maps the names of the commands to their import paths.
	Packages map[string]string
	LDFlags  string
	Tags     string // of the build; "" = none
	// Staged is the version of those modules that the release's go.mod replaces by directories of
	// its own, because a download does not contain these directories; "" = none.
	Staged string
	// Main, if not "", is the source of the only command, for a release that is a library. Besides
	// the module it needs those of With: "example.org/m@v1.2.3".
	Main string
	With []string
}

// Command returns the path of a command of any of the releases. If it does not exist, Command
// builds it, which takes minutes.
func Command(t testing.TB, name string) string {
	t.Helper()
	path, err := Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Find is Command for programs that are not tests.
func Find(ctx context.Context, name string) (string, error) {
	i := slices.IndexFunc(All, func(s Source) bool { return s.Packages[name] != "" })
	if i < 0 {
		return "", fmt.Errorf("no release has the command %s", name)
	}
	dir, err := All[i].Build(ctx)
	return filepath.Join(dir, name), err
}

// Build builds all commands of the source, unless they exist, and returns their directory. It logs
// slow steps to standard error at once, because the log of a test appears only at its end. Other
// callers wait meanwhile: a single linker uses 2 GB.
func (s Source) Build(ctx context.Context) (dir string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("build commands of %s %s: %w", s.Module, s.Version, err)
		}
	}()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, "snug-kube")
	dir = filepath.Join(kept, s.Folder, runtime.GOOS+"-"+runtime.GOARCH)
	if s.built(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(kept, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		s.say("waiting for another process that builds")
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return "", err
		}
	}
	if s.built(dir) {
		return dir, nil
	}
	// Left by processes that were killed.
	old, _ := filepath.Glob(filepath.Join(kept, "build-*"))
	for _, work := range old {
		if err := os.RemoveAll(work); err != nil {
			return "", err
		}
	}
	// In the same directory, so that finished commands can be renamed into place: a partly written
	// command is never run.
	work, err := os.MkdirTemp(kept, "build-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	return dir, builder{s, work}.build(ctx, dir)
}

// built reports whether all commands exist.
func (s Source) built(dir string) bool {
	for name := range s.Packages {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func (s Source) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, s.Module+" "+s.Version+": "+format+"\n", args...)
}

// Downloaded returns the directory of a module's files in Go's module cache.
func Downloaded(t testing.TB, module, version string) string {
	t.Helper()
	b := builder{work: t.TempDir()} // without a module, because none requires it
	var got struct{ Dir string }
	if err := b.answer(t.Context(), &got, "go", "mod", "download", "-json", module+"@"+version); err != nil {
		t.Fatal(err)
	}
	return got.Dir
}

// commands is the module of a builder, and the import path of a source's Main.
const commands = "commands"

// builder builds in a work directory, which is a module that requires the source.
type builder struct {
	Source
	work string
}

func (b builder) build(ctx context.Context, to string) error {
	names := slices.Sorted(maps.Keys(b.Packages))
	b.say("building %s, once; minutes of CPU time", strings.Join(names, ", "))
	start := time.Now()
	if err := b.module(ctx); err != nil {
		return err
	}
	if b.Main != "" {
		if err := b.write("main.go", b.Main); err != nil {
			return err
		}
	}
	bin := filepath.Join(b.work, "bin")
	args := []string{"go", "build", "-trimpath", "-ldflags", b.LDFlags, "-tags", b.Tags, "-o", bin + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, b.Packages[name])
	}
	if _, err := b.run(ctx, args...); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(bin, path.Base(b.Packages[name])), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	b.say("built in %v", time.Since(start).Round(time.Second))
	return nil
}

// module writes a module that requires the source. It copies the replace directives of the source,
// because the go command applies only those of the main module.
func (b builder) module(ctx context.Context) error {
	if err := b.write("go.mod", "module "+commands+"\n\ngo 1.26\n"); err != nil {
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
			if b.Main != "" {
				continue // a library's own directories, which are published at the versions it requires
			}
			if b.Staged == "" {
				return fmt.Errorf("its go.mod replaces %s by a directory", r.Old.Path)
			}
			to = version{r.Old.Path, b.Staged}
		}
		edit = append(edit, "-replace="+r.Old.String()+"="+to.String())
	}
	for _, m := range b.With {
		edit = append(edit, "-require="+m)
	}
	if _, err := b.run(ctx, edit...); err != nil {
		return err
	}
	// The checksums of the release; -mod=mod adds those of replaced modules.
	sums, err := os.ReadFile(filepath.Join(got.Dir, "go.sum"))
	if err != nil {
		return err
	}
	return b.write("go.sum", string(sums))
}

// version is a module as `go mod edit -json` prints it; an empty Version means all versions.
type version struct{ Path, Version string }

func (v version) String() string {
	if v.Version == "" {
		return v.Path
	}
	return v.Path + "@" + v.Version
}

func (b builder) write(name, text string) error {
	return os.WriteFile(filepath.Join(b.work, name), []byte(text), 0o644)
}

// answer runs a command and decodes its JSON output.
func (b builder) answer(ctx context.Context, to any, args ...string) error {
	out, err := b.run(ctx, args...)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, to)
}

// run runs a command in the work directory and returns its standard output. The error contains the
// end of standard error.
func (b builder) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = b.work
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0", "GO111MODULE=on")
	var said strings.Builder
	cmd.Stderr = &said
	// The compilers of a killed go command may keep its output open.
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		text := said.String()
		return out, fmt.Errorf("%s: %w\n%s", strings.Join(args[:min(3, len(args))], " "), err, text[max(0, len(text)-4000):])
	}
	return out, nil
}
