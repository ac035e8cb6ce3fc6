// SPDX-License-Identifier: Apache-2.0

// Package gate decides whether a heavy test may run here. The variable
// SNUG_E2E is a comma list of words: root (makes cgroups), vm (boots a virtual
// machine, once), machines (does there what takes long, and boots other kinds), oci
// (starts containers), browser (looks at pages in Chromium), debian (looks at programs
// of Debian), prometheus (runs Prometheus on the rules that are shipped), go (builds
// programs with other releases of Go), kube (builds and starts a Kubernetes API
// server), chart (builds Helm and installs the chart), fleet (runs
// hundreds of pods on nodes that are not there), node (makes this machine a node of
// Kubernetes), engines (starts containers by docker, podman and others), release (builds
// and installs a release).
package gate

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Need skips the test unless SNUG_E2E holds the word, and names the variable.
// With the word, whatever the test then cannot do is a failure, never a skip.
func Need(t testing.TB, word string) {
	t.Helper()
	if !On(word) {
		t.Skipf("set SNUG_E2E=%s to run this test", word)
	}
}

// On reports whether SNUG_E2E holds the word.
func On(word string) bool {
	return slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), word)
}

// Root needs the word and root's rights.
func Root(t testing.TB, word string) {
	t.Helper()
	Need(t, word)
	if uid := os.Geteuid(); uid != 0 {
		t.Fatalf("SNUG_E2E=%s needs root, this is uid %d", word, uid)
	}
}
