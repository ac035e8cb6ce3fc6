// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// user is the Go set-up of a user: empty caches, the proxy first.
type user struct {
	dir string // contains GOPATH and GOMODCACHE
	env []string
}

// newUser makes a user in dir. proxies are directories. Modules that they lack come from this
// machine's module cache, then from its GOPROXY.
func newUser(ctx context.Context, dir string, proxies ...string) (user, error) {
	out, err := command(ctx, "", nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return user{}, err
	}
	cache, upstream, _ := strings.Cut(strings.TrimSpace(out), "\n")
	var chain []string
	for _, p := range append(proxies, filepath.Join(cache, "cache", "download")) {
		chain = append(chain, "file://"+filepath.ToSlash(p))
	}
	return user{dir, []string{
		"GOPROXY=" + strings.Join(append(chain, upstream), ","),
		"GONOSUMDB=github.com/snug-go/*", // not yet published when this runs
		"GOWORK=off",
		"GOTOOLCHAIN=" + toolchain,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
		"GOPATH=" + filepath.Join(dir, "gopath"),
		"GOMODCACHE=" + filepath.Join(dir, "modcache"),
		// The cache must be removable; go.sum cannot contain the new library yet.
		"GOFLAGS=-modcacherw -mod=mod",
		"GOBIN=", // cross builds cannot use it
		"CGO_ENABLED=0",
	}}, nil
}

// toolchain builds releases, so that everybody who builds one gets the same bytes.
const toolchain = "go1.26.8"

// The flags of all builds, which make the programs small and independent of paths.
const trim, strip = "-trimpath", "-ldflags=-s -w"

// install installs the programs at the version from the user's proxies for a system and returns
// the directory that contains them.
func (u user) install(ctx context.Context, version string, s system) (string, error) {
	env := append([]string{"GOOS=" + s.os, "GOARCH=" + s.arch}, u.env...)
	for _, name := range s.programs() {
		if _, err := command(ctx, u.dir, env, "go", "install", trim, strip, packages[name]+"@"+version); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(u.dir, "gopath", "bin")
	if runtime.GOOS != s.os || runtime.GOARCH != s.arch {
		bin = filepath.Join(bin, s.os+"_"+s.arch)
	}
	return bin, nil
}

// sizes builds the programs for this system from the tree, and prints their sizes. One that is too large is an error.
func (t tree) sizes(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "snug-sizes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{program, small} {
		file := filepath.Join(dir, name)
		if _, err := command(ctx, t.root, []string{"CGO_ENABLED=0"}, "go", "build", trim, strip, "-o", file, packages[name]); err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d bytes, at most %d\n", name, info.Size(), maxBytes[name])
		if info.Size() > int64(maxBytes[name]) {
			return fmt.Errorf("%s has %d bytes, want at most %d", name, info.Size(), maxBytes[name])
		}
	}
	return nil
}

// check vets and tests copies of the dependents that get the library only from the proxy, without
// go.work.
func (t tree) check(ctx context.Context, version string, progress io.Writer) error {
	dir, err := os.MkdirTemp("", "snug-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	proxy := filepath.Join(dir, "proxy")
	if err := t.writeProxy(ctx, proxy, version); err != nil {
		return err
	}
	u, err := newUser(ctx, dir, proxy)
	if err != nil {
		return err
	}
	work := filepath.Join(dir, "tree")
	if err := t.copyTool(ctx, work); err != nil {
		return err
	}
	for _, sub := range dependents {
		for _, args := range [][]string{{"go", "vet", "./..."}, {"go", "test", "./..."}} {
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			cmd.Dir, cmd.Env = filepath.Join(work, sub), append(os.Environ(), u.env...)
			cmd.Stdout, cmd.Stderr = progress, progress
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s in a copy of %s: %w", strings.Join(args, " "), sub, err)
			}
		}
	}
	return nil
}

// dependents lists the modules that require the library.
var dependents = []string{"cmd/snug", "contrib/otel", "contrib/prometheus"}

// copyTool copies the dependents and, at the same relative paths, the files of the library and the
// experiments that their tests read. Without go.mod and go.work the go command cannot take the
// library from there.
func (t tree) copyTool(ctx context.Context, to string) error {
	for _, dir := range append([]string{".", "experiments"}, dependents...) {
		names, err := t.files(ctx, dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if dir == "." && (name == "go.mod" || name == "go.work") {
				continue
			}
			if err := copyFile(filepath.Join(to, dir, name), filepath.Join(t.root, dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// command runs a command and returns its output. env is added to this process's environment; the
// error contains standard error.
func command(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", strings.Join(args, " "), err), errors.New(strings.TrimSpace(stderr.String())))
	}
	return stdout.String(), nil
}
