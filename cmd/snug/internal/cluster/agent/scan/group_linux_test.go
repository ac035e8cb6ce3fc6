// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/tree"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

// TestGroupLimits: between two readings of the limits of a group only its counters are read.
func TestGroupLimits(t *testing.T) {
	c := start(t)
	c.says("ready")
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "sys/fs/cgroup/kubepods/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, "sys/fs/cgroup", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.controllers", "cpu memory\n")
	write("kubepods/a/cgroup.procs", "")
	write("kubepods/a/cpu.weight", "39\n")
	put := func(max, current string) {
		write("kubepods/a/cpu.max", max+" 100000\n")
		write("kubepods/a/memory.max", "max\n")
		write("kubepods/a/memory.current", current+"\n")
	}
	put("150000", "1")
	n, err := tree.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	files := &replaced{n, "proc/" + strconv.Itoa(c.pid()) + "/cgroup", "0::/kubepods/a\n"}
	g := &group{pid: c.pid()}
	defer g.close()
	for i, want := range []struct {
		anew    bool
		cores   float64
		current int64
	}{{false, 1.5, 1}, {false, 1.5, 2}, {true, 2, 2}, {false, 2, 3}} {
		l := g.read(files, want.anew, false)
		if l == nil || l.CPU.Quota != limits.Of(want.cores) || l.Memory.Current != limits.Of(want.current) || l.CPU.Weight != limits.Of(39) {
			t.Errorf("read %d: %+v, want %+v", i, l, want)
		}
		put("200000", strconv.Itoa(i/2+2))
	}
}

// replaced is a tree with one file replaced.
type replaced struct {
	fs.FS
	name, text string
}

func (r *replaced) Open(name string) (fs.File, error) {
	if name == r.name {
		return fstest.MapFS{"cgroup": {Data: []byte(r.text)}}.Open("cgroup")
	}
	return r.FS.Open(name)
}

// TestNamespacedBind: if the top of a container's tree is its own group, without a cgroup
// namespace, as runc does with v1, its path still shows its pod.
func TestNamespacedBind(t *testing.T) {
	needRoot(t)
	p := makePod(t, 9)
	c := p.run(t, self(t))
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	top := ""
	mounts, _ := cgroup.Mounts(text)
	for _, m := range mounts {
		if strings.HasPrefix(p.dir, m.Point+"/") && len(m.Point) > len(top) {
			top = m.Point
		}
	}
	cmd := exec.Command("unshare", "--mount", "/bin/sh", "-c", `mount --bind "$1" "$2" && exec "$0"`, self(t), p.dir, top)
	cmd.Env = append(os.Environ(), "AGENT_TEST_CHILD=outside")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	d, err := finding.Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	if in, _ := find(d.(*finding.Node), c.pid()); in == nil || in.PodUID == nil || *in.PodUID != p.uid || in.ID == nil || *in.ID != p.id {
		t.Errorf("it is in %+v", in)
	}
}
