// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
)

// changes are the changes of a node to the machine that outlive its processes. They are recorded
// before they are made.
type changes struct {
	Dir       string            // of the node; its mounts and files are removed
	Sysctls   map[string]string // original values by file
	Addresses []string          // added to the interface lo
	Paths     []string          // created
}

const (
	sysctls = "/proc/sys/"
	// The cgroup hierarchies are mounted here, each in a directory of its own.
	hierarchies = "/sys/fs/cgroup"
)

// setByKubelet lists the kernel parameters that a kubelet sets
// (pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables), and ip_forward, which network
// plugins set.
var setByKubelet = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward",
}

// madeByNode lists directories outside of the node's own. For some of them kubelet, containerd and
// CNI have no option; others may exist without a node.
var madeByNode = []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers", "/run/containerd", "/run/netns", "/opt/containerd", "/etc/cni/net.d"}

// ownGroups names the cgroups of pods and their sandboxes. If they exist, another node does.
var ownGroups = []string{"kubepods", "k8s.io"}

// before returns the changes to undo after a node in dir.
func before(dir string, addresses []string) (*changes, error) {
	c := &changes{Dir: dir, Sysctls: map[string]string{}}
	if g := groupsOfPods(); len(g) > 0 {
		return nil, fmt.Errorf("another node's cgroups are here, %s", g[0])
	}
	for _, name := range setByKubelet {
		text, err := os.ReadFile(sysctls + name)
		if err != nil {
			return nil, err
		}
		c.Sysctls[name] = strings.TrimSpace(string(text))
	}
	there, err := exec.Command("ip", "-o", "addr", "show", "dev", "lo").Output()
	if err != nil {
		return nil, fmt.Errorf("ip addr: %w", err)
	}
	for _, a := range addresses {
		if bytes.Contains(there, []byte(" "+a+" ")) {
			return nil, fmt.Errorf("another node's address is here, %s", a)
		}
		c.Addresses = append(c.Addresses, a)
	}
	for _, path := range madeByNode {
		if path = missing(path); path != "" && !slices.Contains(c.Paths, path) {
			c.Paths = append(c.Paths, path)
		}
	}
	return c, nil
}

// missing returns the topmost missing part of a path; "" = the path exists.
func missing(path string) string {
	if _, err := os.Lstat(path); err == nil {
		return ""
	}
	if up := missing(filepath.Dir(path)); up != "" {
		return up
	}
	return path
}

// groupsOfPods returns the topmost cgroups of nodes.
func groupsOfPods() []string {
	var all []string
	for _, name := range ownGroups {
		found, _ := filepath.Glob(filepath.Join(hierarchies, "*", name))
		all = append(all, found...)
	}
	return all
}

// undo restores the machine. It continues after an error, and may be repeated.
func (c *changes) undo() error {
	errs := []error{c.kill()}
	errs = append(errs, c.unmount(), removeGroups())
	for _, name := range slices.Sorted(maps.Keys(c.Sysctls)) {
		errs = append(errs, os.WriteFile(sysctls+name, []byte(c.Sysctls[name]), 0))
	}
	for _, a := range c.Addresses {
		if out, err := exec.Command("ip", "addr", "del", a, "dev", "lo").CombinedOutput(); err != nil && !bytes.Contains(out, []byte("Cannot assign")) {
			errs = append(errs, fmt.Errorf("remove address %s: %s", a, out))
		}
	}
	if mounts, err := c.mounts(); err != nil || len(mounts) > 0 {
		// Removing below a mount could delete files that are not the node's.
		return errors.Join(append(errs, err, fmt.Errorf("still mounted: %q", mounts))...)
	}
	for _, path := range append(c.Paths, c.Dir) {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// kill kills all processes in the node's cgroups and all that have its directory among their
// arguments, as kubelet, containerd and its shims do, until none is left.
func (c *changes) kill() error {
	var left []int
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if left = c.processes(); len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("processes do not end: %v", left)
}

func (c *changes) processes() []int {
	var all []int
	for _, top := range groupsOfPods() {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil // groups may vanish
			}
			text, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			for line := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
					all = append(all, pid)
				}
			}
			return nil
		})
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() && bytes.Contains(text, []byte(c.Dir+"/")) {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mounts returns the mounts below the node's directories, the newest first (man 5
// proc_pid_mountinfo):
//
//	36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw
func (c *changes) mounts() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		for _, dir := range append(c.Paths, c.Dir) {
			if fields[4] == dir || strings.HasPrefix(fields[4], dir+"/") {
				all = append(all, fields[4])
			}
		}
	}
	slices.Reverse(all)
	return all, nil
}

func (c *changes) unmount() error {
	all, err := c.mounts()
	errs := []error{err}
	for _, at := range all {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", at, err))
		}
	}
	return errors.Join(errs...)
}

// removeGroups removes the node's cgroups.
func removeGroups() error {
	var errs []error
	for _, top := range groupsOfPods() {
		var all []string
		errs = append(errs, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return err
		}))
		errs = append(errs, cgv1.Remove(all))
	}
	return errors.Join(errs...)
}
