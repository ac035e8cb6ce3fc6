// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wanted describes a container to start; a limit of 0 = none.
type wanted struct {
	name   string
	dir    string // for its files; does not exist yet
	flags  []string
	cpu    float64
	memory int    // MiB
	parent string // path of its group's parent, from the roots
	line   []string
}

// engines maps engines to functions that prepare a container and return the command line that
// starts it.
var engines = map[string]func(*testing.T, *lab, wanted) []string{
	"docker":   dockerRun,
	"runc":     func(t *testing.T, l *lab, w wanted) []string { return ociRun(t, l, "runc", w) },
	"podman":   podmanRun,
	"rootless": rootlessRun,
	"bwrap":    bwrapRun,
	"chroot":   chrootRun,
}

func (w wanted) limits() (flags []string) {
	if w.cpu > 0 {
		flags = append(flags, "--cpus", fmt.Sprint(w.cpu))
	}
	if w.memory > 0 {
		// Without --memory-swap it may use as much swap.
		size := fmt.Sprintf("%dm", w.memory)
		flags = append(flags, "--memory", size, "--memory-swap", size)
	}
	return flags
}

func dockerRun(t *testing.T, l *lab, w wanted) []string {
	args := []string{l.docker.client, "--host", "unix://" + l.docker.socket, "run", "--rm", "-i", "--name", w.name, "--network", "none", "--cgroup-parent", w.parent}
	for _, b := range l.binds() {
		args = append(args, "-v", b[0]+":"+b[1]+":ro")
	}
	return slices.Concat(args, w.limits(), w.flags, []string{image}, w.line)
}

// podmanRun gives podman a mount namespace that ends with it. By default podman raises both
// ulimits, for which root needs CAP_SYS_RESOURCE.
func podmanRun(t *testing.T, l *lab, w wanted) []string {
	dir, root := w.dir, makeRoot(t, w.dir+"/root")
	args := []string{"unshare", "--mount", "--propagation", "private", "env", "HOME=" + dir, "podman",
		"--root", dir + "/storage", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp", "--storage-driver", "vfs",
		"--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc",
		"run", "--rm", "-i", "--name", w.name, "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--cgroup-parent", w.parent}
	for _, b := range l.binds() {
		args = append(args, "-v", b[0]+":"+b[1]+":ro")
	}
	return slices.Concat(args, w.limits(), w.flags, []string{"--rootfs", root}, w.line)
}

// rootlessRun: with v1 a user cannot set limits, so those of the user's group apply.
func rootlessRun(t *testing.T, l *lab, w wanted) []string {
	path := l.group(t, w.name, w.cpu, w.memory)
	w.cpu, w.memory = 0, 0
	const user = 65534 // an existing user
	dir, root := w.dir, makeRoot(t, w.dir+"/root")
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, user, user)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"setpriv", "--reuid", fmt.Sprint(user), "--regid", fmt.Sprint(user), "--clear-groups",
		"env", "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "podman",
		"--root", dir + "/storage", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp", "--storage-driver", "vfs",
		"--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc",
		"run", "--rm", "-i", "--name", w.name, "--network", "none"}
	for _, b := range l.binds() {
		args = append(args, "-v", b[0]+":"+b[1]+":ro")
	}
	return enter(path, slices.Concat(args, w.flags, []string{"--rootfs", root}, w.line)...)
}

func bwrapRun(t *testing.T, l *lab, w wanted) []string {
	args := []string{"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-net", "--dev", "/dev", "--tmpfs", "/tmp"}
	for _, b := range l.binds() {
		args = append(args, "--ro-bind", b[0], b[1])
	}
	for _, s := range links {
		args = append(args, "--symlink", s[1], "/"+s[0])
	}
	return enter(l.group(t, w.name, w.cpu, w.memory), slices.Concat(args, w.flags, w.line)...)
}

// chrootRun uses a root that holds only programs.
func chrootRun(t *testing.T, l *lab, w wanted) []string {
	root := makeRoot(t, w.dir)
	var script strings.Builder
	for _, b := range l.binds() {
		fmt.Fprintf(&script, "mount --bind '%s' '%s'\n", b[0], root+b[1])
	}
	fmt.Fprintf(&script, "exec chroot '%s' \"$@\"", root)
	line := append([]string{"unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", script.String(), "sh"}, w.line...)
	return enter(l.group(t, w.name, w.cpu, w.memory), line...)
}

// ociRun writes a bundle.
func ociRun(t *testing.T, l *lab, runtime string, w wanted) []string {
	text, err := ociConfig(makeRoot(t, w.dir+"/root"), l.binds(), w)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.dir, "config.json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{runtime, "--root", filepath.Join(w.dir, "state"), "run", "--bundle", w.dir, w.name}
}

// ociConfig returns the configuration of a bundle (OCI runtime specification 1.0.2, config.md and
// config-linux.md).
func ociConfig(root string, binds [][2]string, w wanted) ([]byte, error) {
	type object = map[string]any
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"ro"}},
		{"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": []string{"ro"}},
	}
	for _, b := range binds {
		mounts = append(mounts, object{"destination": b[1], "type": "bind", "source": b[0], "options": []string{"rbind", "ro"}})
	}
	namespaces := []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}}
	if slices.Contains(w.flags, "private") {
		namespaces = append(namespaces, object{"type": "cgroup"})
	}
	return json.Marshal(object{
		"ociVersion": "1.0.2",
		"root":       object{"path": root},
		"mounts":     mounts,
		"process":    object{"args": w.line, "env": []string{"PATH=/usr/bin"}, "cwd": "/", "user": object{"uid": 0, "gid": 0}},
		"linux": object{
			"cgroupsPath": filepath.Join(w.parent, w.name),
			"namespaces":  namespaces,
			"resources": object{
				"cpu":    object{"quota": int(w.cpu * 100000), "period": 100000},
				"memory": object{"limit": w.memory << 20},
			},
		},
	})
}
