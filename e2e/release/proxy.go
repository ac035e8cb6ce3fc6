// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// writeProxy writes the modules at the version to a directory that serves as a GOPROXY
// (https://go.dev/ref/mod#goproxy-protocol).
func (t tree) writeProxy(ctx context.Context, dir, version string) error {
	for path, sub := range map[string]string{library: ".", tool: "cmd/snug", collector: "contrib/prometheus", telemetry: "contrib/otel"} {
		if err := t.writeModule(ctx, dir, module.Version{Path: path, Version: version}, sub); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (t tree) writeModule(ctx context.Context, dir string, m module.Version, sub string) error {
	mod, err := os.ReadFile(filepath.Join(t.root, sub, "go.mod"))
	if err != nil {
		return err
	}
	if err := releasable(mod, m); err != nil {
		return err
	}
	names, err := t.files(ctx, sub)
	if err != nil {
		return err
	}
	var files []zip.File
	for _, name := range names {
		files = append(files, file{name, filepath.Join(t.root, sub, name)})
	}
	if !slices.Contains(names, "LICENSE") {
		// The go command also adds the root's LICENSE to modules in a subdirectory.
		files = append(files, file{"LICENSE", filepath.Join(t.root, "LICENSE")})
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	// The protocol requires a time, and the same tree must give the same one.
	info, err := json.Marshal(map[string]string{"Version": m.Version, "Time": "2000-01-01T00:00:00Z"})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			return err
		}
	}
	w, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		return err
	}
	defer w.Close()
	if err := zip.Create(w, m, files); err != nil {
		return err
	}
	return w.Close()
}

// releasable checks that users can install go.mod: the library requires nothing; the tool requires
// the library at the same version and replaces nothing.
func releasable(text []byte, m module.Version) error {
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	if mod.Module.Mod.Path != m.Path {
		return fmt.Errorf("go.mod belongs to module %s", mod.Module.Mod.Path)
	}
	if len(mod.Replace) > 0 {
		return fmt.Errorf("go.mod replaces %s: go install refuses it", mod.Replace[0].Old.Path)
	}
	if m.Path == library {
		if len(mod.Require) > 0 {
			return fmt.Errorf("go.mod requires %s: the library must require nothing", mod.Require[0].Mod.Path)
		}
		return nil
	}
	for _, r := range mod.Require {
		if r.Mod.Path == library {
			if r.Mod.Version != m.Version {
				return fmt.Errorf("go.mod requires %s, want %s", r.Mod, m.Version)
			}
			return nil
		}
	}
	return fmt.Errorf("go.mod does not require %s %s", library, m.Version)
}

// file is a file of the tree and its name in a module.
type file struct{ name, path string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.path) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.path) }
