// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	sumsFile    = "SHA256SUMS"
	sbomFile    = "sbom.spdx.json"
	licenceFile = "THIRD_PARTY_LICENSES"
	// pinFile has the checksums of the published release. Actions and hooks verify by it. It is in
	// a module that no program contains, so that it does not change what it describes.
	pinFile = "e2e/release/" + sumsFile
)

// release fills a new or empty directory with a release. It builds every binary twice, as two users
// who share only the proxy and the compiler's cache, and fails if the results differ.
func (t tree) release(ctx context.Context, dir, version string) error {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := signingKey()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "snug-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binaries, cache, err := t.build(ctx, work, version)
	if err != nil {
		return err
	}
	files, err := t.assemble(ctx, version, binaries, cache, key)
	if err != nil {
		return err
	}
	return write(dir, files)
}

func write(dir string, files []content) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.text, os.FileMode(f.mode)); err != nil {
			return err
		}
	}
	return nil
}

// assemble makes the files of a release from its binaries. cache is the module cache that they were
// built from; without a key nothing is signed.
func (t tree) assemble(ctx context.Context, version string, binaries []binary, cache string, k *key) ([]content, error) {
	created, err := t.time(ctx)
	if err != nil {
		return nil, err
	}
	texts, err := t.documents(ctx, cache, version, created, binaries)
	if err != nil {
		return nil, err
	}
	files := slices.Clone(texts[1:])
	images, err := imageFiles(version, created, binaries, texts)
	if err != nil {
		return nil, err
	}
	files = append(files, images...)
	for _, s := range systems {
		var programs []content
		for _, b := range binaries {
			if b.system == s {
				programs = append(programs, content{b.file(), 0o755, b.text})
			}
		}
		a, err := archive(version, created, s, append(programs, texts[:2]...))
		if err != nil {
			return nil, err
		}
		files = append(files, a)
	}
	packages, err := makePackages(ctx, version, created, binaries, texts)
	if err != nil {
		return nil, err
	}
	files = append(files, packages...)
	chart, err := t.chart(ctx, version, created)
	if err != nil {
		return nil, err
	}
	files = append(files, chart)
	for _, make := range []func(string, []content) (content, error){formula, krew} {
		f, err := make(version, files)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	sums := checksums(files)
	if err := t.pinned(version, sums); err != nil {
		return nil, err
	}
	files = append(files, content{sumsFile, 0o644, sums})
	provenance, err := t.provenance(ctx, version, created, files, k)
	if err != nil || k == nil {
		return append(files, provenance), err
	}
	signed, err := k.files(sums)
	return slices.Concat(files, []content{provenance}, signed), err
}

// build builds all binaries, and returns the module cache that has their sources.
func (t tree) build(ctx context.Context, work, version string) (all []binary, cache string, err error) {
	proxy := filepath.Join(work, "proxy")
	if err := t.writeProxy(ctx, proxy, version); err != nil {
		return nil, "", err
	}
	var users []user
	for _, name := range []string{"one", filepath.Join("another", "place")} {
		home := filepath.Join(work, name)
		if err := os.MkdirAll(home, 0o755); err != nil {
			return nil, "", err
		}
		u, err := newUser(ctx, home, proxy)
		if err != nil {
			return nil, "", err
		}
		users = append(users, u)
	}
	for _, s := range systems {
		b, err := buildTwice(ctx, users, version, s)
		if err != nil {
			return nil, "", err
		}
		all = append(all, b...)
	}
	return all, filepath.Join(users[0].dir, "modcache"), nil
}

// documents returns the licence of snug, those of others, and the SBOM.
func (t tree) documents(ctx context.Context, cache, version string, created time.Time, binaries []binary) ([]content, error) {
	licences, err := collectLicences(ctx, cache, binaries)
	if err != nil {
		return nil, err
	}
	sbom, err := writeSBOM(version, created, binaries, licences)
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(t.root, "LICENSE"))
	return []content{{"LICENSE", 0o644, own}, {licenceFile, 0o644, licenceText(licences)}, {sbomFile, 0o644, sbom}}, err
}

func imageFiles(version string, created time.Time, binaries []binary, beside []content) ([]content, error) {
	var files []content
	for _, program := range []string{program, small} {
		index, err := makeImage(program, version, created, binaries, beside)
		if err != nil {
			return nil, err
		}
		text, err := packImage(index, registryName+"/"+program, version, created)
		if err != nil {
			return nil, err
		}
		files = append(files, content{imageFile(program), 0o644, text})
	}
	return files, nil
}

// checksums returns the SHA-256 of files in the format of sha256sum -c.
func checksums(files []content) []byte {
	var lines []string
	for _, f := range files {
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(f.text), f.name))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return []byte(strings.Join(lines, ""))
}

// pinned compares checksums with those in the tree, if they are of the same version. The tag's
// build on another machine proves that way that the release is reproducible.
func (t tree) pinned(version string, sums []byte) error {
	want, err := os.ReadFile(filepath.Join(t.root, pinFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(want, []byte("  "+program+"_"+number(version)+"_")) {
		return nil
	}
	if err == nil && !bytes.Equal(want, sums) {
		err = fmt.Errorf("this release differs from %s:\n%s", pinFile, sums)
	}
	return err
}

// find returns the file with the name.
func find(files []content, name string) (content, error) {
	i := slices.IndexFunc(files, func(f content) bool { return f.name == name })
	if i < 0 {
		return content{}, fmt.Errorf("the release lacks %s", name)
	}
	return files[i], nil
}
