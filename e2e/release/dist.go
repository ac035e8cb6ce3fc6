// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// arches lists the architectures of the released binaries.
var arches = []string{"amd64", "arm64"}

// release fills a new or empty directory with one static binary per architecture, SHA256SUMS,
// sbom.spdx.json, THIRD_PARTY_LICENSES and a container image. It builds every binary twice, as two
// users who share only the proxy, and fails if the results differ.
func (t tree) release(ctx context.Context, dir, version string) error {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	work, err := os.MkdirTemp("", "snug-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	proxy := filepath.Join(work, "proxy")
	if err := t.writeProxy(ctx, proxy, version); err != nil {
		return err
	}
	var users []user
	for _, name := range []string{"one", filepath.Join("another", "place")} {
		home := filepath.Join(work, name)
		if err := os.MkdirAll(home, 0o755); err != nil {
			return err
		}
		u, err := newUser(ctx, home, proxy)
		if err != nil {
			return err
		}
		users = append(users, u)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var binaries []binary
	for _, arch := range arches {
		b, err := buildTwice(ctx, users, version, arch)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, b.name), b.text, 0o755); err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	cache := filepath.Join(users[0].dir, "modcache")
	licences, err := collectLicences(ctx, cache, binaries)
	if err != nil {
		return err
	}
	created, err := t.time(ctx)
	if err != nil {
		return err
	}
	sbom, err := writeSBOM(version, created, binaries, licences)
	if err != nil {
		return err
	}
	own, err := os.ReadFile(filepath.Join(t.root, "LICENSE"))
	if err != nil {
		return err
	}
	texts := []content{{"THIRD_PARTY_LICENSES", 0o644, licenceText(licences)}, {"sbom.spdx.json", 0o644, sbom}}
	var image bytes.Buffer
	if err := writeImage(&image, version, created, binaries, append([]content{{"LICENSE", 0o644, own}}, texts...)); err != nil {
		return err
	}
	for _, f := range append(texts, content{imageFile, 0o644, image.Bytes()}) {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.text, 0o644); err != nil {
			return err
		}
	}
	return writeSums(dir)
}

// binary is a released program.
type binary struct {
	name string
	arch string
	text []byte
	info *buildinfo.BuildInfo
}

func (b binary) sum() string { return fmt.Sprintf("%x", sha256.Sum256(b.text)) }

// buildTwice builds as every user and compares the results.
func buildTwice(ctx context.Context, users []user, version, arch string) (binary, error) {
	b := binary{name: "snug-linux-" + arch, arch: arch}
	for _, u := range users {
		path, err := u.install(ctx, version, arch)
		if err != nil {
			return b, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return b, err
		}
		if b.text != nil && !bytes.Equal(b.text, text) {
			return b, fmt.Errorf("%s is not reproducible: two builds differ", b.name)
		}
		b.text = text
	}
	if bytes.Contains(b.text, []byte(users[0].dir)) {
		return b, fmt.Errorf("%s contains the path of its build directory", b.name)
	}
	info, err := buildinfo.Read(bytes.NewReader(b.text))
	if err != nil {
		return b, fmt.Errorf("%s: %w", b.name, err)
	}
	b.info = info
	return b, static(b)
}

// writeSums writes SHA256SUMS for all files of the directory, in the format of sha256sum -c.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(text), e.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
