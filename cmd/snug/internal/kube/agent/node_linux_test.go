// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/limits"
)

// tree makes a node's file system with these cgroup directories.
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

// TestNodeMounts: what is mounted where, by what is there.
func TestNodeMounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		dirs    []string
		unified string // where cgroup.controllers is
		want    []string
	}{
		{"v2", []string{"kubepods.slice", "system.slice"}, "cgroup.controllers", []string{"/ /sys/fs/cgroup rw - cgroup2 cgroup rw"}},
		{"v1", []string{"cpu,cpuacct", "memory"}, "", []string{"/ /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct", "/ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"}},
		{"hybrid", []string{"memory", "unified"}, "unified/cgroup.controllers", []string{"/ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", "/ /sys/fs/cgroup/unified rw - cgroup2 cgroup rw"}},
		{"a name that would be another line", []string{"me\nmory", "a b"}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.dirs...)
			if c.unified != "" {
				write(t, root, c.unified, "cpu memory\n")
			}
			n, err := openNode(root)
			if err != nil {
				t.Fatal(err)
			}
			defer n.close()
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

// TestFromAbove: ways from a container's own group become the node's.
func TestFromAbove(t *testing.T) {
	const own = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podx.slice/cri-containerd-y.scope"
	for _, c := range []struct{ above, text, want string }{
		{own, "0::/\n", "0::" + own + "\n"},
		{own, "0::/../..\n", "0::/kubepods.slice/kubepods-besteffort.slice\n"},
		{own, "0::/../../../kubepods-burstable.slice/a:b\n", "0::/kubepods.slice/kubepods-burstable.slice/a:b\n"},
		{own, "0::/../../../../system.slice/kubelet.service\n", "0::/system.slice/kubelet.service\n"},
		{own, "0::/../../../../../../..\n", "0::/\n"},
		{own, "4:memory:/a\n0::/b\n", "4:memory:/a\n0::" + own + "/b\n"},
		{own, "", ""},
	} {
		if got := string(fromAbove([]byte(c.text), c.above)); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestFindGroup: a directory is found again, wherever it is seen.
func TestFindGroup(t *testing.T) {
	root := tree(t, "kubepods/pod1/a", "kubepods/pod2/b")
	for dir, want := range map[string]string{"kubepods/pod2/b": "/kubepods/pod2/b", "": "/"} {
		own, err := os.Stat(filepath.Join(root, cgroupDir, dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := findGroup(os.DirFS(root), own); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
	elsewhere, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := findGroup(os.DirFS(root), elsewhere); got != "/" {
		t.Errorf("%q", got)
	}
}

// TestNodeLimits: a process's own number, a v2 tree elsewhere, and nothing outside of it.
func TestNodeLimits(t *testing.T) {
	c := start(t)
	c.says("ready")
	root := tree(t, "kubepods/a")
	write(t, root, "cgroup.controllers", "cpu memory\n")
	write(t, root, "kubepods/cpu.max", "150000 100000\n")
	write(t, root, "kubepods/a/memory.max", "268435456\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(root, cgroupDir, "kubepods/a/memory.high")); err != nil {
		t.Fatal(err)
	}
	n, err := openNode(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if _, err := fs.ReadFile(n, "sys/fs/cgroup/kubepods/a/memory.high"); err == nil {
		t.Error("it left its tree")
	}
	// As if the agent's own group were below, and the process beside it.
	name := "proc/" + strconv.Itoa(c.pid()) + "/cgroup"
	n.above = "/kubepods/a"
	f, err := n.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil || len(text) == 0 {
		t.Fatalf("%q, %v", text, err)
	}
	l, err := limits.Read(&replaced{n, name, "0::/kubepods/a\n"}, c.pid())
	if err != nil {
		t.Fatal(err)
	}
	if l.CPU.Quota != limits.Of(1.5) || l.Memory.Hard.N != 256<<20 && l.Memory.Hard.N != l.Memory.Host.N || l.CPU.Affinity.N < 1 {
		t.Errorf("%+v", l)
	}
}

// replaced is a tree with one file that says something else.
type replaced struct {
	fs.FS
	name, text string
}

func (r *replaced) Open(name string) (fs.File, error) {
	if name == r.name {
		return &made{name: "cgroup", Reader: strings.NewReader(r.text)}, nil
	}
	return r.FS.Open(name)
}

// TestNodeMissing: a directory that is no node's.
func TestNodeMissing(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/nonexistent"} {
		if _, err := New(Options{Root: dir}); err == nil {
			t.Errorf("%s is a node", dir)
		}
	}
}
