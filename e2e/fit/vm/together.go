// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// boot is one boot of a machine, shared by all tests that request it.
type boot struct {
	spec    Spec
	once    sync.Once
	results []Result
	failure string
}

// waiting holds the requested machines that have not booted yet.
var (
	mu      sync.Mutex
	waiting = map[Kind]*boot{}
)

// Run returns one result per step, in the same order; a step that failed has an Err. It makes the
// test parallel. The machine boots once every test has had the chance to request it, and runs the
// steps of all that did. If several tests name the same guest file, the host file must be the same.
func Run(t *testing.T, spec Spec) []Result {
	t.Helper()
	b, from := join(t, spec)
	t.Parallel()
	b.once.Do(func() { b.run(t) })
	if b.failure != "" {
		t.Fatal(b.failure)
	}
	results := slices.Clone(b.results[from : from+len(spec.Steps)])
	for i := range results {
		results[i].Name = spec.Steps[i].Name
		if left := results[i].Left; len(left) > 0 {
			t.Errorf("%s: groups left behind: %s; stderr %q", results[i].Name, left, results[i].Stderr)
		}
		if testing.Verbose() {
			t.Logf("%6.2f s %s", results[i].Seconds, results[i].Name)
		}
	}
	return results
}

// join adds a test's files and steps to the machine, and returns the index of the test's first
// step.
func join(t *testing.T, spec Spec) (b *boot, from int) {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	kind := spec.withDefaults()
	b = waiting[kind]
	if b == nil {
		b = &boot{spec: Spec{Kind: kind, Files: map[string]string{}}}
		waiting[kind] = b
	}
	for name, host := range spec.Files {
		if other := b.spec.Files[name]; other != "" && other != host {
			t.Fatalf("two host files for the guest's %s: %s and %s", name, other, host)
		}
	}
	maps.Copy(b.spec.Files, spec.Files)
	from = len(b.spec.Steps)
	for _, s := range spec.Steps {
		s.Name = t.Name() + ": " + s.Name
		b.spec.Steps = append(b.spec.Steps, s)
	}
	return b, from
}

func (b *boot) run(t *testing.T) {
	mu.Lock()
	delete(waiting, b.spec.Kind)
	mu.Unlock()
	b.failure = "the machine failed; another test has the reason"
	begin := time.Now()
	results, console, err := Boot(t.Context(), t.TempDir(), b.spec)
	if err != nil {
		t.Fatalf("virtual machine: %v\nlast of its console:\n%s", err, console[max(0, len(console)-4000):])
	}
	b.results, b.failure = results, ""
	if testing.Verbose() {
		var steps float64
		for _, r := range results {
			steps += r.Seconds
		}
		t.Logf("%s, %d CPUs, %s: %.0f s, %.0f s of them in %d steps of %s", b.spec.Arch, b.spec.CPUs, b.spec.Hierarchy,
			time.Since(begin).Seconds(), steps, len(results), strings.Join(b.tests(), ", "))
	}
}

// tests returns the names of the tests that the steps belong to.
func (b *boot) tests() []string {
	var names []string
	for _, s := range b.spec.Steps {
		name, _, _ := strings.Cut(s.Name, ": ")
		names = append(names, name)
	}
	return slices.Compact(names)
}
