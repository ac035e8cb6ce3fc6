// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"maps"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/fit/vm/wire"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/matrix"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// unlimited32 is what cgroup v1 of a 32-bit kernel with pages of 4 KiB prints for no limit:
// PAGE_COUNTER_MAX is LONG_MAX pages there (Linux, include/linux/page_counter.h).
const unlimited32 = "8796093018112\n"

// Test386 runs programs of 32 bits on a 32-bit kernel with cgroup v1, whose number for no limit is not
// that of other kernels.
func Test386(t *testing.T) {
	gate.Need(t, "machines")
	const arch = "386"
	kind := vm.Kind{Arch: arch, CPUs: 2, Hierarchy: wire.V1}
	plain, auto, tool := plain, auto, programs.BuildToolFor(t, arch)
	plain.Arch, auto.Arch = arch, arch
	built := files(t, []programs.Program{plain, auto})
	maps.Copy(built, map[string]string{guestPath("snug"): tool})

	direct := []string{guestPath(auto.Name())}
	run := []string{guestPath("snug"), "run", "--", guestPath(plain.Name())}
	at := func(limit string) map[string]string { return map[string]string{"memory.limit_in_bytes": limit} }
	const own, total = "/memory/a/b/memory.limit_in_bytes", "/memory/a/b/memory.stat"
	tests := []struct {
		name         string
		outer, inner map[string]string
		private      bool
		limit        string // the text of own
		memory       int64
	}{
		{name: "no limit", limit: unlimited32, memory: matrix.Unset},
		{name: "no limit, private", private: true, limit: unlimited32, memory: matrix.Unset},
		{name: "a limit", inner: at("134217728"), limit: "134217728\n", memory: 120795956},
		{name: "a limit, private", inner: at("134217728"), private: true, limit: "134217728\n", memory: 120795956},
		{name: "a limit above", outer: at("134217728"), limit: unlimited32, memory: 120795956},
		// Only memory.stat of the own group shows it.
		{name: "a limit above, private", outer: at("134217728"), private: true, limit: unlimited32, memory: 120795956},
	}
	var steps []vm.Step
	for _, test := range tests {
		step := vm.Step{
			Cgroup: groups{"/memory/a": test.outer, "/memory/a/b": test.inner}, In: []string{"/memory/a/b"},
			Private: test.private, Uid: 65532, After: []string{own, total},
		}
		step.Name, step.Args = test.name+", auto", direct
		steps = append(steps, step)
		step.Name, step.Args = test.name+", snug run", run
		steps = append(steps, step)
	}
	for i, r := range vm.Run(t, vm.Spec{Kind: kind, Files: built, Steps: steps}) {
		test := tests[i/2]
		t.Run(r.Name, func(t *testing.T) {
			if r.Err != "" {
				t.Fatal(r.Err)
			}
			if got := r.After[own]; got != test.limit {
				t.Errorf("this kernel's limit is %q, want %q", got, test.limit)
			}
			report(t, r, kind.CPUs, test.memory, "")
		})
	}
}
