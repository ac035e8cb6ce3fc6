// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestLxcfs runs a program in the layout of Proxmox VE on cgroup v2: its namespace is nested below the
// group with the limit, no file inside shows it, and MemTotal of lxcfs does. A live heap of 110 MiB
// in 200 MiB is killed in plain Go, whose heap grows to 220 MiB, and lives with a GOMEMLIMIT.
func TestLxcfs(t *testing.T) {
	gate.Need(t, "vm")
	const lxcfs, plain, auto, limit = "/bin/lxcfs", "/bin/live", "/bin/live-auto", 200 << 20
	payload := files(t, nil)
	maps.Copy(payload, map[string]string{
		lxcfs:          program(t, "../vm/lxcfs"),
		plain:          program(t, "../vm/live"),
		auto:           program(t, "-tags=auto", "../vm/live"),
		"/lib/fuse.ko": vm.FUSE(t, v2),
	})
	const set = "188743680\n" // 90 % of MemTotal
	tests := []struct {
		name    string
		command []string
		env     []string
		killed  bool
		stdout  string // in it
	}{
		{name: "MemTotal", command: []string{guestPath("snug"), "limits", "--json"}, stdout: `"host_bytes":209715200`},
		{name: "plain", command: []string{plain, "110"}, killed: true},
		{name: "SNUG=off", command: []string{auto, "110"}, env: []string{"SNUG=off"}, killed: true},
		{name: "GOMEMLIMIT", command: []string{plain, "110"}, env: []string{"GOMEMLIMIT=180MiB"}, stdout: set},
		{name: "auto", command: []string{auto, "110"}, stdout: set},
		{name: "snug run", command: []string{guestPath("snug"), "run", "--", plain, "110"}, stdout: set},
	}
	var steps []vm.Step
	for _, test := range tests {
		steps = append(steps, vm.Step{
			Name:   test.name,
			Cgroup: groups{"/ct": {"memory.max": "209715200"}, "/ct/ns": {}}, In: []string{"/ct/ns"}, Private: true,
			Args: append([]string{lxcfs, "MemTotal:         204800 kB\nMemFree:          150000 kB\n"}, test.command...), Env: test.env,
			After: []string{"/ct/memory.events", "/ct/ns/memory.max"}, Seconds: 120,
		})
	}
	for i, r := range vm.Run(t, vm.Spec{Kind: v2, Files: payload, Steps: steps}) {
		t.Run(r.Name, func(t *testing.T) {
			if r.Err != "" {
				t.Fatal(r.Err)
			}
			if own := r.After["/ct/ns/memory.max"]; own != "max\n" {
				t.Errorf("the own group's limit is %q, want max", own)
			}
			if killed := strings.Contains(r.After["/ct/memory.events"], "oom_kill 1\n"); killed != tests[i].killed {
				t.Errorf("killed: %t, want %t; exit code %d, memory.events %q", killed, tests[i].killed, r.Exit, r.After["/ct/memory.events"])
			}
			if want := tests[i].stdout; !tests[i].killed && (r.Exit != 0 || !strings.Contains(strings.ReplaceAll(r.Stdout, " ", ""), want)) {
				t.Errorf("exit code %d, %q, want %q in it; stderr %s", r.Exit, r.Stdout, want, r.Stderr)
			}
		})
	}
}
