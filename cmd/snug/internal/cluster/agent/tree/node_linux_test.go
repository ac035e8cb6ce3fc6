// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

// tree makes a node's file system with cgroup directories.
func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range append(dirs, "") {
		if err := os.MkdirAll(filepath.Join(root, cgroupDir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, cgroupDir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNodeMounts checks the generated mount table.
func TestNodeMounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		dirs    []string
		unified string // where cgroup.controllers is
		want    []string
	}{
		{"v2", []string{"kubepods.slice", "system.slice"}, "cgroup.controllers", []string{"/ /sys/fs/cgroup rw - cgroup2 cgroup rw"}},
		{"v1", []string{"cpu,cpuacct", "cpuset", "memory"}, "", []string{"/ /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct", "/ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"}},
		{"hybrid", []string{"memory", "unified"}, "unified/cgroup.controllers", []string{"/ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", "/ /sys/fs/cgroup/unified rw - cgroup2 cgroup rw"}},
		{"a name that would be another line", []string{"me\nmory", "a b"}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.dirs...)
			if c.unified != "" {
				write(t, root, c.unified, "cpu memory\n")
			}
			n, err := Open(root)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			var got []string
			for line := range strings.Lines(string(n.mounts)) {
				got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "1 1 0:1 "))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// TestNodeIrregular: opening a pipe fails instead of blocking.
func TestNodeIrregular(t *testing.T) {
	root := tree(t, "memory/a")
	const pipe = cgroupDir + "/memory/memory.limit_in_bytes"
	if err := syscall.Mkfifo(filepath.Join(root, pipe), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, root, "memory/memory.usage_in_bytes", "7\n")
	if err := os.Symlink("/dev/zero", filepath.Join(root, cgroupDir, "memory/outside")); err != nil {
		t.Fatal(err)
	}
	n, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	done := make(chan error, 1)
	go func() {
		_, err := n.Open(pipe)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errIrregular) {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the other end of a pipe")
	}
	if _, err := n.Open(cgroupDir + "/memory/outside"); err == nil {
		t.Error("a link leads outside")
	}
	if text, err := fs.ReadFile(n, cgroupDir+"/memory/memory.usage_in_bytes"); err != nil || string(text) != "7\n" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := fs.ReadDir(n, cgroupDir+"/memory"); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}

// mounted returns a mount of v2, or of v1 with options.
func mounted(root, options string) *cgroup.Mount {
	return &cgroup.Mount{Root: root, V1: options != "", Options: []byte(options)}
}

// TestInTree: paths from a container's own group become the node's; paths outside of the tree
// stay unchanged.
func TestInTree(t *testing.T) {
	const own = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podx.slice/cri-containerd-y.scope"
	v2 := []view{{mounted("/../../../..", ""), own}}
	v1 := []view{
		{mounted("/../../../..", "rw,memory"), "/kubepods/burstable/podx/y"},
		{mounted("/../../../../..", "rw,cpu,cpuacct"), "/a/kubepods/burstable/podx/y"},
		{mounted("/../../../..", "rw,pids"), ""},
	}
	for _, c := range []struct {
		name       string
		views      []view
		text, want string
	}{
		{"itself", v2, "0::/\n", "0::" + own + "\n"},
		{"above it", v2, "0::/../..\n", "0::/kubepods.slice/kubepods-besteffort.slice\n"},
		{"another class", v2, "0::/../../../kubepods-burstable.slice/a:b\n", "0::/kubepods.slice/kubepods-burstable.slice/a:b\n"},
		{"a container beside it", v2, "0::/../cri-containerd-z.scope\n", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podx.slice/cri-containerd-z.scope\n"},
		{"the node's own", v2, "0::/../../../../system.slice/kubelet.service\n", "0::/system.slice/kubelet.service\n"},
		{"the top", v2, "0::/../../../..\n", "0::/\n"},
		{"outside of the tree", v2, "0::/../../../../..\n", "0::/../../../../..\n"},
		{"outside of the tree, and down again", v2, "0::/../../../../../b/kubepods.slice\n", "0::/../../../../../b/kubepods.slice\n"},
		{"below it", v2, "4:memory:/a\n0::/b\n", "4:memory:/a\n0::" + own + "/b\n"},
		{"v1", v1, "5:pids:/../../podz/x\n4:memory:/../../podz/x\n3:cpu,cpuacct:/\n0::/s\n", "5:pids:/../../podz/x\n4:memory:/kubepods/burstable/podz/x\n3:cpu,cpuacct:/a/kubepods/burstable/podx/y\n0::/s\n"},
		{"v1, a tree that is not above", []view{{mounted("/../b", "memory"), ""}}, "4:memory:/../b/c\n", "4:memory:/c\n"},
		{"v1, its own was not found", v1, "5:pids:/../../../../k/z\n", "5:pids:/k/z\n"},
		{"names that only begin alike", []view{{mounted("/../b", "memory"), ""}}, "4:memory:/../bc\n", "4:memory:/../bc\n"},
		{"the node's own namespace", nil, "0::/a\n", "0::/a\n"},
		{"nothing", v2, "", ""},
		{"no line of cgroups", v2, "what\n1:2\n", "what\n1:2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := inTree(c.text, c.views); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestOutside checks whether a root is outside of the namespace's.
func TestOutside(t *testing.T) {
	for root, want := range map[string]bool{
		"/": false, "/..": true, "/../../..": true, "/../x": true, "/..x": false, "/kubepods/burstable/podx/y": false, "/a/..": false,
	} {
		if got := (&view{Mount: mounted(root, "")}).outside(); got != want {
			t.Errorf("%s: %t", root, got)
		}
	}
}

// TestFindGroup: a directory is found under another path, and so is the group of a process.
func TestFindGroup(t *testing.T) {
	root := tree(t, "kubepods/pod1/a", "kubepods/pod2/b")
	write(t, root, "kubepods/pod2/cgroup.procs", "12\n")
	write(t, root, "kubepods/pod1/a/cgroup.procs", "121\n")
	write(t, root, "kubepods/pod2/b/cgroup.procs", "121\n12\n")
	files := os.DirFS(root)
	for depth, dir := range map[int]string{3: "kubepods/pod2/b", 1: "kubepods", 0: ""} {
		own, err := os.Stat(filepath.Join(root, cgroupDir, dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := findGroup(files, cgroupDir, depth, isAnyOf(files, []fs.FileInfo{own})); got != "/"+dir {
			t.Errorf("%q: %q", dir, got)
		}
	}
	if got := findGroup(files, cgroupDir, 3, containsPID(files, 12)); got != "/kubepods/pod2/b" {
		t.Errorf("%q", got)
	}
	elsewhere, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := findGroup(files, cgroupDir, 3, isAnyOf(files, []fs.FileInfo{elsewhere})); got != "" {
		t.Errorf("%q", got)
	}
}

// TestNodeLimits reads the limits of a process in a v2 tree elsewhere, and nothing outside it.
func TestNodeLimits(t *testing.T) {
	root := tree(t, "kubepods/a")
	write(t, root, "cgroup.controllers", "cpu memory\n")
	write(t, root, "kubepods/cpu.max", "150000 100000\n")
	write(t, root, "kubepods/a/memory.max", "268435456\n")
	write(t, root, "kubepods/a/cgroup.procs", "")
	if err := os.Symlink("/etc/passwd", filepath.Join(root, cgroupDir, "kubepods/a/memory.high")); err != nil {
		t.Fatal(err)
	}
	n, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := fs.ReadFile(n, "sys/fs/cgroup/kubepods/a/memory.high"); err == nil {
		t.Error("it left its tree")
	}
	// As if the agent's group were below, and the process in a sibling.
	name := "proc/" + strconv.Itoa(os.Getpid()) + "/cgroup"
	n.views = []view{{mounted("/../..", ""), "/kubepods/a"}}
	f, err := n.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil || len(text) == 0 {
		t.Fatalf("%q, %v", text, err)
	}
	l, err := limits.Read(limits.Process{FS: &replaced{n, name, "0::/kubepods/a\n"}, PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if l.CPU.Quota != limits.Of(1.5) || l.Memory.Hard.N != 256<<20 && l.Memory.Hard.N != l.Memory.Host.N || l.CPU.Affinity.State != limits.Unknown {
		t.Errorf("%+v", l)
	}
}

// replaced is a tree with one file replaced.
type replaced struct {
	fs.FS
	name, text string
}

func (r *replaced) Open(name string) (fs.File, error) {
	if name == r.name {
		return &memFile{name: "cgroup", Reader: strings.NewReader(r.text)}, nil
	}
	return r.FS.Open(name)
}

// TestNodeMissing: a directory without a cgroup tree is an error.
func TestNodeMissing(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/nonexistent"} {
		if _, err := Open(dir); err == nil {
			t.Errorf("%s is a node", dir)
		}
	}
}
