// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kernel returns the path of a kernel to boot: the package that Debian's package meta depends on.
// It is downloaded with apt once and kept in the user's cache directory, with its module for FUSE beside
// it.
func kernel(ctx context.Context, meta, arch string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "snug-vm")
	// "linux-image-cloud-amd64" depends on a package such as "linux-image-6.1.0-1-cloud-amd64".
	flavour := strings.TrimPrefix(meta, "linux-image-")
	if have, _ := filepath.Glob(filepath.Join(dir, "vmlinuz-*-"+flavour)); len(have) > 0 {
		image := slices.Max(have)
		if _, err := os.Stat(fuse(image)); err == nil {
			return image, nil
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)

	apt := aptFor(arch, work)
	name, err := kernelPackage(ctx, apt, work, meta)
	if err != nil {
		return "", err
	}
	if _, err := output(ctx, work, slices.Concat([]string{"apt-get", "download", "-qq"}, apt, []string{name})...); err != nil {
		return "", err
	}
	debs, _ := filepath.Glob(filepath.Join(work, "*.deb"))
	if len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d packages", name, len(debs))
	}
	if _, err := output(ctx, work, "dpkg-deb", "-x", debs[0], "."); err != nil {
		return "", err
	}
	images, _ := filepath.Glob(filepath.Join(work, "boot", "vmlinuz-*"))
	if len(images) != 1 {
		return "", fmt.Errorf("%s holds %d kernels", name, len(images))
	}
	modules, _ := filepath.Glob(filepath.Join(work, "lib", "modules", "*", "kernel", "fs", "fuse", "fuse.ko"))
	if len(modules) != 1 {
		return "", fmt.Errorf("%s holds %d modules for FUSE", name, len(modules))
	}
	// Renamed into place, so that a partial download is never booted.
	image := filepath.Join(dir, filepath.Base(images[0]))
	if err := os.Rename(modules[0], fuse(image)); err != nil {
		return "", err
	}
	return image, os.Rename(images[0], image)
}

// fuse returns the path of a kernel's module for FUSE.
func fuse(image string) string { return image + "-fuse.ko" }

// FUSE returns the path of the module for FUSE of a machine's kernel.
func FUSE(t testing.TB, kind Kind) string {
	t.Helper()
	kind = kind.withDefaults()
	machine, err := machineOf(kind.Arch)
	if err != nil {
		t.Fatal(err)
	}
	image, err := kernel(t.Context(), machine.kernel, machine.debianName(kind.Arch))
	if err != nil {
		t.Fatal(err)
	}
	return fuse(image)
}

// aptFor returns options that let apt see the packages of an architecture with the sources of this
// system. apt keeps its state below dir, and dpkg need not support the architecture.
func aptFor(arch, dir string) []string {
	var options []string
	for _, o := range []string{
		"APT::Architecture=" + arch, "APT::Architectures=" + arch, "APT::Sandbox::User=root",
		"Dir::State=" + dir, "Dir::State::status=/dev/null", "Dir::Cache=" + dir,
	} {
		options = append(options, "-o", o)
	}
	return options
}

// kernelPackage returns the package that meta depends on, according to apt.
func kernelPackage(ctx context.Context, apt []string, dir, meta string) (string, error) {
	// One of several lists may be missing while a mirror is being updated; another has the package.
	_, lists := output(ctx, dir, slices.Concat([]string{"apt-get", "update", "-qq"}, apt)...)
	out, err := output(ctx, dir, slices.Concat([]string{"apt-cache", "depends"}, apt, []string{meta})...)
	if err != nil {
		return "", errors.Join(lists, err)
	}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: linux-image-"); ok {
			return "linux-image-" + name, nil
		}
	}
	return "", errors.Join(lists, fmt.Errorf("apt has no package %s", meta))
}

// output runs a command in a directory and returns its standard output. The error contains its
// standard error.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
