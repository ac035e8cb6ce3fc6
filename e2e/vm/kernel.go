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
)

// kernelMeta is Debian's package that always depends on the newest kernel
// made for virtual machines: small, and with everything a guest needs built in.
const kernelMeta = "linux-image-cloud-amd64"

// kernel returns the path of a kernel to boot. It is downloaded with apt once
// and kept in the user's cache directory.
func kernel(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "snug-vm")
	if have, _ := filepath.Glob(filepath.Join(dir, "vmlinuz-*")); len(have) > 0 {
		return slices.Max(have), nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)

	name, err := kernelPackage(ctx)
	if err != nil {
		return "", err
	}
	if _, err := output(ctx, work, "apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name); err != nil {
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
	// Renamed into place, so that a cut-off download is never booted.
	image := filepath.Join(dir, filepath.Base(images[0]))
	return image, os.Rename(images[0], image)
}

// kernelPackage asks apt which package kernelMeta stands for, and fetches the
// package lists first when apt does not know it.
func kernelPackage(ctx context.Context) (string, error) {
	for _, update := range []bool{false, true} {
		if update {
			if _, err := output(ctx, "", "apt-get", "update", "-qq"); err != nil {
				return "", err
			}
		}
		out, _ := output(ctx, "", "apt-cache", "depends", kernelMeta)
		for line := range strings.Lines(out) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: linux-image-"); ok {
				return "linux-image-" + name, nil
			}
		}
	}
	return "", fmt.Errorf("apt knows no %s", kernelMeta)
}

// output runs a command in a directory and returns its standard output; the
// error carries what it said on standard error.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
