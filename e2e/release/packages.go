// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// completions maps the shells to where Debian (deb) and Fedora (rpm) look for completion scripts.
var completions = map[string]map[string]string{
	"bash": {"deb": "/usr/share/bash-completion/completions/snug", "rpm": "/usr/share/bash-completion/completions/snug"},
	"fish": {"deb": "/usr/share/fish/vendor_completions.d/snug.fish", "rpm": "/usr/share/fish/vendor_completions.d/snug.fish"},
	"zsh":  {"deb": "/usr/share/zsh/vendor-completions/_snug", "rpm": "/usr/share/zsh/site-functions/_snug"},
}

// makePackages returns a deb and an rpm for each architecture. They contain what the archives do, and
// completion scripts, which the program for this machine prints.
func makePackages(ctx context.Context, version string, at time.Time, binaries []binary, texts []content) ([]content, error) {
	nfpm, err := kubebuild.Find(ctx, "nfpm")
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "snug-package-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	scripts, err := completionScripts(ctx, work, binaries)
	if err != nil {
		return nil, err
	}
	var made []content
	for _, arch := range []string{"amd64", "arm64"} {
		dir := filepath.Join(work, arch)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		for _, kind := range []string{"deb", "rpm"} {
			config := fmt.Sprintf(packageHead, arch, number(version), strconv.Quote(at.UTC().Format(time.RFC3339)))
			for _, f := range packaged(kind, arch, binaries, texts, scripts) {
				from := filepath.Join(dir, f.name)
				config += fmt.Sprintf("  - {src: %q, dst: %q, file_info: {mode: %#o, owner: root, group: root}}\n", from, f.to, f.mode)
				if err := os.WriteFile(from, f.text, 0o644); err != nil {
					return nil, err
				}
			}
			path := filepath.Join(dir, "nfpm.yaml")
			if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
				return nil, err
			}
			out := filepath.Join(dir, kind)
			if err := os.Mkdir(out, 0o755); err != nil {
				return nil, err
			}
			env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(at.Unix(), 10)}
			if _, err := command(ctx, dir, env, nfpm, "package", "--config", path, "--packager", kind, "--target", out+"/"); err != nil {
				return nil, err
			}
			files, err := os.ReadDir(out)
			if err != nil || len(files) != 1 {
				return nil, fmt.Errorf("nfpm made %d files, want a %s; %w", len(files), kind, err)
			}
			text, err := os.ReadFile(filepath.Join(out, files[0].Name()))
			if err != nil {
				return nil, err
			}
			made = append(made, content{files[0].Name(), 0o644, text})
		}
	}
	return made, nil
}

// placed is a file of a package and where it goes.
type placed struct {
	content
	to string
}

func packaged(kind, arch string, binaries []binary, texts, scripts []content) []placed {
	var all []placed
	for _, b := range binaries {
		if b.system == (system{"linux", arch}) {
			all = append(all, placed{content{b.program, 0o755, b.text}, "/usr/bin/" + b.program})
		}
	}
	for _, f := range texts {
		to := "/usr/share/doc/snug/" + f.name
		if f.name == "LICENSE" {
			to = "/usr/share/doc/snug/copyright" // Debian's policy wants this name
		}
		all = append(all, placed{f, to})
	}
	for _, f := range scripts {
		all = append(all, placed{f, completions[f.name][kind]})
	}
	return all
}

// packageHead is the start of nfpm's configuration (https://nfpm.goreleaser.com/configuration/).
const packageHead = `name: snug
arch: %s
platform: linux
version: %s
version_schema: semver
maintainer: The snug authors <snug-go@users.noreply.github.com>
description: |-
  Go programs that fit their containers
  snug finds the CPU and memory limits of a container that really hold, sets
  GOMAXPROCS and GOMEMLIMIT to match, and finds what is wrong with Go processes.
homepage: https://github.com/snug-go/snug
license: Apache-2.0
section: utils
priority: optional
mtime: %s
rpm: {group: Development/Tools, buildhost: snug}
contents:
  - {dst: /usr/share/doc/snug, type: dir}
`

// completionScripts returns a script for each shell, with the shell as its name.
func completionScripts(ctx context.Context, work string, binaries []binary) ([]content, error) {
	for _, b := range binaries {
		if b.program != program || b.system != (system{runtime.GOOS, runtime.GOARCH}) {
			continue
		}
		bin := filepath.Join(work, b.name())
		if err := os.WriteFile(bin, b.text, 0o755); err != nil {
			return nil, err
		}
		var scripts []content
		for _, shell := range []string{"bash", "fish", "zsh"} {
			text, err := command(ctx, work, nil, bin, "completion", shell)
			if err != nil {
				return nil, err
			}
			scripts = append(scripts, content{shell, 0o644, []byte(text)})
		}
		return scripts, nil
	}
	return nil, fmt.Errorf("%s/%s has no release, so its completion scripts cannot be printed here", runtime.GOOS, runtime.GOARCH)
}
