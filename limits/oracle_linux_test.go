// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/internal/oracle"
	"github.com/snug-go/snug/limits"
)

// testWorlds creates worlds of package oracle for real, and reads them as this machine's. The
// kernel then decides what mounts show, so the oracle is tested too. The worlds are v1, where
// a group with child groups can hold processes.
func testWorlds(t *testing.T) {
	outer := newGroup(t, nil, "limits-test-worlds-"+strconv.Itoa(os.Getpid()))
	if !outer.v1 {
		return
	}
	cpu, _ := placeOf("cpu")
	memory, _ := placeOf("memory")
	if slices.Contains(cpu, "memory") || len(memory) == 0 {
		return // this test is not written for such a machine
	}
	lists := [][]string{cpu, memory}
	for seed := uint64(1); seed <= 60; seed++ {
		testWorld(t, outer, seed, lists)
	}
}

// placeOf returns a controller's line of /proc/self/cgroup: the controllers on it, and the
// group.
func placeOf(controller string) (list []string, path string) {
	text, err := os.ReadFile("/proc/self/cgroup")
	must(err)
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			return strings.Split(f[1], ","), f[2]
		}
	}
	return nil, ""
}

func testWorld(t *testing.T, outer *group, seed uint64, lists [][]string) {
	base := newGroup(t, outer, "w"+strconv.FormatUint(seed, 10))
	dirs := []string{base.cpu, base.memory}
	steps := oracle.RandomReal(seed, lists...)
	groups := 0
	for groups < len(steps) && !strings.HasPrefix(steps[groups].Text, "mount") {
		groups++
	}
	w := oracle.Build(steps[:groups])
	for i, h := range w.Hierarchies {
		makeGroups(dirs[i], h.Root)
		t.Cleanup(func() { removeGroups(t, dirs[i]) })
	}
	child := exec.Command("/proc/self/exe")
	child.Env = []string{"SNUG_TEST_WORLD=" + strconv.FormatUint(seed, 10), "SNUG_TEST_ROOT=" + t.TempDir(),
		"SNUG_TEST_BASES=" + strings.Join(dirs, ":"), "SNUG_TEST_LISTS=" + strings.Join(lists[0], ",") + ":" + strings.Join(lists[1], ",")}
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | newCgroup}
	var said strings.Builder
	child.Stdout, child.Stderr = &said, &said
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startIn(child, w, dirs, outer); err != nil {
		t.Fatal(err)
	}
	for i, h := range w.Hierarchies {
		outer.write(t, dirs[i]+h.Own.Below(), "cgroup.procs", strconv.Itoa(child.Process.Pid))
	}
	stdin.Close()
	if err := child.Wait(); err != nil || said.Len() > 0 {
		for _, s := range steps {
			said.WriteString(s.Text + "\n")
		}
		t.Errorf("seed %d: %v\n%s", seed, err, &said)
	}
}

const newCgroup = 0x02000000 // CLONE_NEWCGROUP of linux/sched.h

// startIn starts a process in the groups that are the roots of a world's cgroup namespace. On
// v1 a single thread can enter them and come back.
func startIn(child *exec.Cmd, w *oracle.World, dirs []string, outer *group) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := []byte(strconv.Itoa(syscall.Gettid()))
	for i, h := range w.Hierarchies {
		back := filepath.Dir([]string{outer.cpu, outer.memory}[i]) + "/tasks"
		_, path := placeOf(h.Controllers[0])
		if own := filepath.Join(filepath.Dir(back), path, "tasks"); exists(own) {
			back = own // of a mount that shows the path from its root on
		}
		defer os.WriteFile(back, tid, 0)
		if err := os.WriteFile(dirs[i]+h.NS.Below()+"/tasks", tid, 0); err != nil {
			return err
		}
	}
	return child.Start()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// makeGroups creates the groups of a world below a directory. It skips limits that the kernel
// rejects.
func makeGroups(base string, d *oracle.Dir) {
	dir := base + d.Below()
	os.Mkdir(dir, 0o755)
	for name, text := range map[string]string{"cpu.cfs_quota_us": d.Quota.CFS, "memory.limit_in_bytes": d.Max.Text} {
		if text != "" && exists(dir+"/"+name) {
			os.WriteFile(dir+"/"+name, []byte(text), 0)
		}
	}
	for _, k := range d.Kids {
		makeGroups(base, k)
	}
}

// removeGroups removes a group and its descendants.
func removeGroups(t *testing.T, dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(t, filepath.Join(dir, e.Name()))
		}
	}
	remove(t, dir)
}

// A realKernel is the real one, seen from a root directory that contains only proc and, below
// /stash, the hierarchies.
type realKernel struct{ looked bool }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (k *realKernel) Mount(w *oracle.World, at string, m *oracle.Mount) {
	for i, h := range w.Hierarchies {
		if !k.looked {
			took(stash(i), h.Root)
		}
	}
	k.looked = true
	must(os.MkdirAll(at, 0o755))
	for i, h := range w.Hierarchies {
		if h == m.Tree {
			must(syscall.Mount(stash(i)+m.Root.Below(), at, "", syscall.MS_BIND, ""))
			return
		}
	}
	must(syscall.Mount("none", at, m.Tree.Type, 0, ""))
	if m.Tree.Type == "tmpfs" {
		imitate(at, m.Root)
	}
}

func stash(i int) string { return "/stash/" + strconv.Itoa(i) }

// took removes from a world the limits that the kernel rejected.
func took(base string, d *oracle.Dir) {
	if text, err := os.ReadFile(base + d.Below() + "/cpu.cfs_quota_us"); err == nil && string(text) != d.Quota.CFS {
		d.Quota = oracle.Quota{}
	}
	if text, err := os.ReadFile(base + d.Below() + "/memory.limit_in_bytes"); err == nil && string(text) != d.Max.Text {
		d.Max = oracle.Size{}
	}
	for _, k := range d.Kids {
		took(base, k)
	}
}

func imitate(at string, d *oracle.Dir) {
	for name, text := range d.Files {
		must(os.WriteFile(at+"/"+name, []byte(text), 0o644))
	}
	for _, k := range d.Kids {
		must(os.Mkdir(at+"/"+k.Name, 0o755))
		imitate(at+"/"+k.Name, k)
	}
}

func (k *realKernel) Unmount(at string, all bool) {
	flags := 0
	if all {
		flags = syscall.MNT_DETACH
	}
	must(syscall.Unmount(at, flags))
}

func (k *realKernel) Move(from, to string) {
	must(os.MkdirAll(to, 0o755))
	must(syscall.Mount(from, to, "", syscall.MS_MOVE, ""))
}

func (k *realKernel) Remove(w *oracle.World, d *oracle.Dir) {
	for i, h := range w.Hierarchies {
		if h == d.Tree {
			removeAll(stash(i)+d.Below(), d)
		}
	}
}

func removeAll(at string, d *oracle.Dir) {
	for _, k := range d.Kids {
		removeAll(at+"/"+k.Name, k)
	}
	must(os.Remove(at))
}

func (k *realKernel) Make(w *oracle.World, d *oracle.Dir) {
	for i, h := range w.Hierarchies {
		if h == d.Tree {
			makeGroups(stash(i), d)
			took(stash(i), d)
		}
	}
}

// world is a child of testWorld: it makes the mounts of a world, reads its limits, and prints
// what is wrong.
func world(seed uint64) {
	io.Copy(io.Discard, os.Stdin) // until this process is in its group
	must(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	root := os.Getenv("SNUG_TEST_ROOT")
	must(syscall.Mount("none", root, "tmpfs", 0, ""))
	must(os.Mkdir(root+"/proc", 0o755))
	must(syscall.Mount("/proc", root+"/proc", "", syscall.MS_BIND, ""))
	for i, dir := range strings.Split(os.Getenv("SNUG_TEST_BASES"), ":") {
		must(os.MkdirAll(root+stash(i), 0o755))
		must(syscall.Mount(dir, root+stash(i), "", syscall.MS_BIND, ""))
	}
	must(syscall.Chroot(root))
	must(os.Chdir("/"))
	var lists [][]string
	for _, list := range strings.Split(os.Getenv("SNUG_TEST_LISTS"), ":") {
		lists = append(lists, strings.Split(list, ","))
	}
	w := oracle.BuildOn(&realKernel{}, oracle.RandomReal(seed, lists...))
	for i := range w.Hierarchies {
		must(syscall.Unmount(stash(i), syscall.MNT_DETACH))
	}
	l, err := limits.Self()
	must(err)
	host, _ := l.Memory.Host.Get()
	w.Process.Pid, w.Process.Memory, w.Inodes = os.Getpid(), host>>10, true
	c := check{w: w, l: &l, truth: w.Truth(), count: outcomes{}}
	if c.all(); c.b.Len() > 0 {
		table, _ := os.ReadFile("/proc/self/mountinfo")
		own, _ := os.ReadFile("/proc/self/cgroup")
		fmt.Printf("%s%s%s", table, own, c.b.String())
	}
}
