// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/snug-go/snug/e2e/fit/oci"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// pushed pushes the release to a registry on loopback and returns where.
func pushed(t *testing.T) string {
	t.Helper()
	b := released(t)
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	to := strings.TrimPrefix(s.URL, "http://") + "/snug-go"
	// Only the commands of other projects come from the user's directories: no logins.
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", t.TempDir())
	if err := pushRelease(t.Context(), b.dir, version, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestRegistry: the images in a registry are whole and run, cosign accepts them, and Helm renders
// the chart from there with the name of the published image.
func TestRegistry(t *testing.T) {
	cosign := kubebuild.Command(t, "cosign")
	to, b := pushed(t), released(t)
	for _, program := range []string{program, small} {
		ref, err := name.ParseReference(to + "/" + program + ":" + version)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			if err != nil {
				t.Fatal(err)
			}
			checkImage(t, b, image, program, arch)
		}
		args := []string{cosign, "verify", "--key", filepath.Join(b.dir, "snug.pub"), "--insecure-ignore-tlog", "--allow-http-registry", ref.String()}
		if r := try(t, "", nil, args...); r.code != 0 {
			t.Errorf("cosign: %+v", r)
		}
	}
	for _, helm := range kubebuild.Helms {
		args := []string{kubebuild.Command(t, helm), "template", "snug", "oci://" + to + "/charts/snug", "--version", number(version), "--kube-version", kubebuild.KubernetesVersion}
		if helm != "helm3" { // that release sees that the registry is on loopback
			args = append(args, "--plain-http")
		}
		if got := out(t, args...); !strings.Contains(got, "image: \""+registryName+"/snug:"+version+"\"") && !strings.Contains(got, "image: "+registryName+"/snug:"+version+"\n") {
			t.Errorf("%s renders no image %s/snug:%s:\n%s", helm, registryName, version, got)
		}
	}
}

// checkImage checks the configuration and the files of an image, and runs it as a container.
func checkImage(t *testing.T, b built, image v1.Image, program, arch string) {
	t.Helper()
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.OS != "linux" || c.Architecture != arch || c.Created.Unix() != epoch || c.Config.User != imageUser ||
		!slices.Equal(c.Config.Entrypoint, []string{"/" + program}) || c.Config.Labels["org.opencontainers.image.version"] != version {
		t.Errorf("%s for %s: %+v", program, arch, c)
	}
	root := t.TempDir()
	archive := tar.NewReader(mutate.Extract(image))
	var names []string
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		put(t, filepath.Join(root, h.Name), string(text))
	}
	if slices.Sort(names); !slices.Equal(names, []string{"LICENSE", licenceFile, sbomFile, program}) {
		t.Errorf("%s for %s has %q", program, arch, names)
	}
	if i := slices.IndexFunc(b.binaries, func(b binary) bool { return b.program == program && b.system == system{"linux", arch} }); !bytes.Equal(read(t, filepath.Join(root, program)), b.binaries[i].text) {
		t.Errorf("%s for %s is not the program of the release", program, arch)
	}
	if arch != "amd64" {
		runs(t, arch, root, "/"+program)
		return
	}
	// Mount points for runc.
	for _, dir := range []string{"proc", "dev", "sys"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Only the test's user can enter the directories of the test.
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"version"}, {"limits"}, {"run", "--", "/" + program, "version"}} {
		o := oci.Container{Root: root, Args: append([]string{"/" + program}, args...)}.Run(t)
		if o.Exit != 0 || o.Stderr != "" || o.Stdout == "" || args[0] != "limits" && !strings.Contains(o.Stdout, version) {
			t.Errorf("%s %s in the image: exit %d, %q, %q", program, strings.Join(args, " "), o.Exit, o.Stdout, o.Stderr)
		}
	}
}

// TestEngines: podman loads the archives of the images and runs them.
func TestEngines(t *testing.T) {
	b := released(t)
	// Its mounts end with the command.
	store := []string{"unshare", "--mount", "--propagation", "private", "podman", "--root", t.TempDir(), "--runroot", t.TempDir(), "--tmpdir", t.TempDir(),
		"--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc"}
	podman := func(args ...string) string { return out(t, slices.Concat(store, args)...) }
	for _, program := range []string{program, small} {
		podman("load", "--quiet", "--input", filepath.Join(b.dir, imageFile(program)))
		image := registryName + "/" + program + ":" + version
		// By default podman raises these limits, which root may not do everywhere.
		if got := podman("run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", image, "version"); !strings.Contains(got, version) {
			t.Errorf("%s printed %q; the images are\n%s", image, got, podman("images"))
		}
	}
}
