// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
)

// These types mirror those of the program inside, which is a main package.
type (
	inPod struct {
		Group     string
		Args, Env []string
		Throttled bool
	}
	inRun struct {
		Group string
		Own   bool
		Args  []string
	}
	seen struct {
		Pids []int
		Runs []struct{ Stdout, Stderr, Err string }
	}
)

// OnV2 tests the tool at the path snug on a machine with cgroup v2, with the group names of
// both drivers and all runtimes. It runs the tool on the node and in containers, whose cgroup
// namespaces show other groups by relative paths.
func OnV2(t *testing.T, machine vm.Kind, snug string) {
	all := pods()
	all["old"].prefix = "cri-containerd"
	all["blind"].prefix, all["blind"].inner = "crio", "container"
	all["plain"].prefix = "docker"
	all["spent"].prefix = "" // the driver cgroupfs
	systemd, cgroupfs := named(8, &pod{class: "besteffort", prefix: "cri-containerd"}), named(9, &pod{class: "burstable"})
	beside := named(4, &pod{class: "burstable"}) // a container in spent's pod
	beside.id = cgroupfs.id

	dir := t.TempDir()
	files := map[string]string{"/bin/snug": snug, "/bin/inside": filepath.Join(dir, "inside"), "/plan.json": filepath.Join(dir, "plan")}
	cmd := exec.Command("go", "build", "-o", files["/bin/inside"], "github.com/snug-go/snug/e2e/cluster/agent/inside")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	groups := map[string]map[string]string{}
	names := slices.Sorted(maps.Keys(all))
	for _, p := range append(slices.Collect(maps.Values(all)), systemd, cgroupfs, beside) {
		for _, g := range p.groups() {
			if groups[g] == nil {
				groups[g] = map[string]string{}
			}
		}
		if p.quota > 0 {
			groups[p.limited()]["cpu.max"] = strconv.Itoa(p.quota) + " 100000"
		}
		if p.memory > 0 {
			groups[p.limited()]["memory.max"] = strconv.Itoa(p.memory << 20)
		}
	}
	once := []string{"/bin/snug", "agent", "--once", "--json"}
	elsewhere := append(slices.Clone(once), "--root", "/host")
	runs := []struct {
		name string
		inRun
	}{
		{"on the node", inRun{Args: once}},
		{"on the node, with --root", inRun{Args: elsewhere}},
		{"in a container, systemd", inRun{Group: systemd.path(), Own: true, Args: elsewhere}},
		{"in a container, cgroupfs", inRun{Group: cgroupfs.path(), Own: true, Args: elsewhere}},
		{"in a pod with others", inRun{Group: beside.path(), Own: true, Args: elsewhere}},
		{"in a container without its own tree", inRun{Group: cgroupfs.path(), Args: elsewhere}},
		{"in a container, the node's cgroups in place of its own", inRun{Group: cgroupfs.path(), Args: once}},
	}
	var plan struct {
		Pods []inPod
		Runs []inRun
	}
	for _, name := range names {
		p := all[name]
		files["/bin/"+name+"/server"] = build(t, filepath.Join(dir, name), p)
		plan.Pods = append(plan.Pods, inPod{p.path(), append([]string{"/bin/" + name + "/server"}, p.args...), p.env, name == "old"})
	}
	for _, r := range runs {
		plan.Runs = append(plan.Runs, r.inRun)
	}
	text, err := json.Marshal(plan)
	if err == nil {
		err = os.WriteFile(files["/plan.json"], text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := vm.Run(t, vm.Spec{Kind: machine, Files: files, Steps: []vm.Step{
		{Name: "agent", Cgroup: groups, Args: []string{"/bin/inside", "/plan.json"}, Env: []string{"HOME=/tmp"}, Seconds: 600},
	}})[0]
	var got seen
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || r.Err != "" || r.Exit != 0 {
		t.Fatalf("%s exit code %d, %v\n%s%s", r.Err, r.Exit, err, r.Stdout, r.Stderr)
	}
	for i, name := range names {
		all[name].pid = got.Pids[i]
	}
	for i, run := range runs {
		t.Run(run.name, func(t *testing.T) {
			o := got.Runs[i]
			if o.Err != "" || o.Stderr != "" {
				t.Fatalf("%s\n%s", o.Err, o.Stderr)
			}
			n := decode(t, []byte(o.Stdout))
			judge(t, n, all)
			old := n.of(t, all["old"])
			if old.Throttled == nil || !(*old.Throttled > 0) || old.Periods == nil || old.ThrottledSeconds == nil || !(*old.ThrottledSeconds > 0) || !old.finds("stale-procs") {
				t.Errorf("old works with 8 Ps at a tenth of a core: %+v", old)
			}
			for name, runtime := range map[string]string{"old": "containerd", "blind": "cri-o", "plain": "docker"} {
				if c := n.of(t, all[name]); !is(c.Runtime, runtime) {
					t.Errorf("%s: %+v", name, c)
				}
			}
			if c := n.of(t, all["spent"]); !is(c.Class, "Burstable") || c.Runtime != nil || c.Memory == nil || *c.Memory > 48<<20 {
				t.Errorf("spent: %+v", c)
			}
		})
	}
}
