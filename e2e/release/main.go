// SPDX-License-Identifier: Apache-2.0

// Release makes a release of the tool from this tree, as users will get it.
//
//	go run ./e2e/release -o DIR          all that a tag publishes
//	go run ./e2e/release -push REGISTRY  the images and the chart in DIR to a registry
//	go run ./e2e/release -proxy DIR      only a module proxy with the modules of this tree
//	go run ./e2e/release -check          vet and test the dependents without go.work
//	go run ./e2e/release -sizes          only the sizes of the programs for this system
//
// DIR has archives, deb and rpm packages, the chart, the images, a formula for Homebrew, a manifest
// for krew, SBOM, licences, SHA256SUMS and the provenance in SLSA's format. SNUG_SIGN_KEY, an ECDSA
// key in PEM form, signs checksums, provenance and images. The same source gives the same bytes on
// every machine.
//
// nfpm makes the packages, go-containerregistry the images, and Helm publishes the chart. goreleaser
// would replace the archives and the manifests, but not the rest: it builds a tree and not the
// modules that users get, its go.mod has 376 lines of modules, and for SBOM and images it starts
// programs that it does not contain.
//
// The proxy holds the modules at the version of the release. So the built, vetted and tested code
// is what a user's go command fetches after tagging. go.work would hide what go.mod lacks.
//
// To release: make it with -o dist, copy dist/SHA256SUMS to e2e/release, commit, run .ci/full, and push
// the tags VERSION, cmd/snug/VERSION, contrib/otel/VERSION and contrib/prometheus/VERSION. The
// workflow release makes it again, compares it with these checksums, and publishes it. Actions and
// hooks at this commit download what these checksums name. The key is a secret of the environment
// release, which is for tags v* alone and needs a maintainer's approval; no other workflow can read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

const (
	library = "github.com/snug-go/snug"
	tool    = "github.com/snug-go/snug/cmd/snug"
	// These are released like the tool, because they require the library.
	collector = "github.com/snug-go/snug/contrib/prometheus"
	telemetry = "github.com/snug-go/snug/contrib/otel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "v0.1.0", "the release's version")
	out := flags.String("o", "", "make the release in this directory")
	push := flags.String("push", "", "push the images and the chart of the release in -o to this registry, such as "+registryName)
	proxy := flags.String("proxy", "", "write the module proxy to this directory")
	check := flags.Bool("check", false, "vet and test a copy of the tool against the proxy, without go.work")
	sizes := flags.Bool("sizes", false, "build the programs for this system, and print their sizes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || (*out == "" && *proxy == "" && !*check && !*sizes) || (*push != "" && *out == "") {
		return errors.New("wrong usage: one or more of -o DIR, -proxy DIR, -check, -sizes; -push REGISTRY with -o")
	}
	tree, err := findTree(ctx)
	if err != nil {
		return err
	}
	if *sizes {
		if err := tree.sizes(ctx, os.Stdout); err != nil {
			return err
		}
	}
	if *proxy != "" {
		if err := tree.writeProxy(ctx, *proxy, *version); err != nil {
			return err
		}
	}
	if *check {
		if err := tree.check(ctx, *version, os.Stderr); err != nil {
			return err
		}
	}
	switch {
	case *push != "":
		return pushRelease(ctx, *out, *version, *push)
	case *out != "":
		return tree.release(ctx, *out, *version)
	}
	return nil
}

// number is a version without the v of Go's, as packages and charts write it.
func number(version string) string { return strings.TrimPrefix(version, "v") }

// tree is a working copy of the repository.
type tree struct{ root string }

// findTree finds the tree of the working directory.
func findTree(ctx context.Context) (tree, error) {
	root, err := command(ctx, "", nil, "git", "rev-parse", "--show-toplevel")
	return tree{strings.TrimSpace(root)}, err
}

// files lists the files of a commit of the current tree, relative to dir, with slashes, without
// those of modules below dir.
func (t tree) files(ctx context.Context, dir string) ([]string, error) {
	out, err := command(ctx, filepath.Join(t.root, dir), nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	all := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	var modules []string
	for _, name := range all {
		if module, ok := strings.CutSuffix(name, "/go.mod"); ok {
			modules = append(modules, module+"/")
		}
	}
	var files []string
next:
	for _, name := range all {
		for _, module := range modules {
			if strings.HasPrefix(name, module) {
				continue next
			}
		}
		// Deleted, but still in the index.
		if _, err := os.Lstat(filepath.Join(t.root, dir, name)); errors.Is(err, os.ErrNotExist) {
			continue
		}
		files = append(files, name)
	}
	return files, nil
}
