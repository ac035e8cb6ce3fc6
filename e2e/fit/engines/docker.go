// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
)

// docker is a dockerd of this test, with a containerd of its own.
type docker struct {
	socket string
	client string
}

// image has only directories and links; the programs are the host's.
const image = "inmate:1"

// startDocker starts both daemons in the test's groups and in a mount namespace of their own, so
// that their mounts end with them.
func (l *lab) startDocker(t *testing.T) {
	t.Helper()
	path := l.group(t, "daemons", 0, 0)
	start := func(name string, namespace []string, args ...string) *daemon.Process {
		dir := filepath.Join(l.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v: install the packages of e2e/packages.txt", err)
		}
		line := enter(path, slices.Concat(namespace, []string{program}, args)...)
		return daemon.Start(t, dir, line[0], line[1:]...)
	}
	config := filepath.Join(l.dir, "containerd.toml")
	// Disable the plugins that the test does not need and that make directories elsewhere.
	text := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\", \"io.containerd.internal.v1.opt\"]\n[grpc]\naddress = %q\n",
		filepath.Join(l.dir, "c-root"), filepath.Join(l.dir, "c-state"), filepath.Join(l.dir, "c.sock"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// Its shims have their sockets in /run/containerd, regardless of the configuration.
	private := []string{"unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", "mkdir -p /run/containerd\nmount -t tmpfs shims /run/containerd\nexec \"$@\"", "sh"}
	c := start("containerd", private, "--config", config)
	waitFor(t, "containerd", c, func() error { _, err := os.Stat(filepath.Join(l.dir, "c.sock")); return err })
	// Debian's own client: another one may require an API version that this daemon lacks.
	l.docker = &docker{socket: filepath.Join(l.dir, "d.sock"), client: "/usr/bin/docker"}
	// containerd's children need dockerd's mounts.
	there := fmt.Sprintf("--mount=/proc/%d/ns/mnt", c.Pid())
	d := start("dockerd", []string{"nsenter", there}, "--containerd", filepath.Join(l.dir, "c.sock"), "--host", "unix://"+l.docker.socket,
		"--data-root", filepath.Join(l.dir, "d-root"), "--exec-root", filepath.Join(l.dir, "d-exec"), "--pidfile", filepath.Join(l.dir, "d.pid"),
		"--cgroup-parent", "/"+l.name, "--iptables=false", "--ip6tables=false", "--bridge=none")
	waitFor(t, "dockerd", d, func() error { _, err := l.docker.try("version"); return err })
	t.Cleanup(func() {
		if ids, err := l.docker.try("ps", "-aq"); err != nil {
			t.Error(err)
		} else if ids != "" {
			if _, err := l.docker.try(append([]string{"rm", "-f"}, strings.Fields(ids)...)...); err != nil {
				t.Error(err)
			}
		}
	})
	cmd := l.docker.command(t.Context(), "import", "-", image)
	cmd.Stdin = bytes.NewReader(skeleton(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v: %s", err, out)
	}
}

func (d *docker) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.client, append([]string{"--host", "unix://" + d.socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	return cmd
}

func (d *docker) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	out, err := d.command(ctx, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// binds returns the directories of the host that are bound into a container: host path, container
// path.
func (l *lab) binds() [][2]string {
	return [][2]string{{l.bin, "/e"}, {"/usr", "/usr"}, {javaConfig, javaConfig}}
}

// links are the links in the root of a system with a merged /usr.
var links = [][2]string{{"bin", "usr/bin"}, {"sbin", "usr/sbin"}, {"lib", "usr/lib"}, {"lib64", "usr/lib64"}}

// directories lists the directories of a container's root.
var directories = []string{"dev", "e", "etc", javaConfig[1:], "host", "proc", "root", "run", "srv", "sys", "tmp", "usr", "x"}

// skeleton returns a root as a tar archive.
func skeleton(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h *tar.Header) {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range directories {
		add(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755})
	}
	for _, s := range links {
		add(&tar.Header{Typeflag: tar.TypeSymlink, Name: s[0], Linkname: s[1], Mode: 0o777})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// makeRoot makes the same root on disk.
func makeRoot(t *testing.T, dir string) string {
	t.Helper()
	for _, d := range directories {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range links {
		if err := os.Symlink(s[1], filepath.Join(dir, s[0])); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// waitFor retries f until it returns no error. It fails the test when the daemon ends.
func waitFor(t *testing.T, what string, p *daemon.Process, f func() error) {
	t.Helper()
	for late := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if p.Ended() != nil || time.Now().After(late) {
			t.Fatalf("%s: %v, %v\n%s", what, err, p.Ended(), p.Log())
		}
	}
}
