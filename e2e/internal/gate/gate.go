// SPDX-License-Identifier: Apache-2.0

// Package gate decides whether a heavy test may run. The variable SNUG_E2E is a comma-separated
// list of words: root (makes cgroups), vm (boots one virtual machine), machines (runs slow tests
// in it and boots machines of other kinds), oci (starts containers), browser (checks pages in
// Chromium), site (builds the site of the documentation and checks it in Chromium), debian (reads
// programs of Debian), prometheus (runs Prometheus with the shipped rules), go (builds programs
// with other Go releases), kube (builds and starts a Kubernetes API server), chart (builds Helm
// and installs the chart), fleet (runs hundreds of pods on simulated nodes), node (makes this
// machine a node of Kubernetes), engines (starts containers with docker, podman and others),
// release (makes a release and installs all of it), advice (measures programs whose best setting is
// known), hostile (starts processes that are hard to look at), otel (builds OpenTelemetry's Collector and sends to it).
package gate

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Need skips the test unless SNUG_E2E contains the word; the message says how to set it. With the
// word, a test that cannot do its work must fail, never skip.
func Need(t testing.TB, word string) {
	t.Helper()
	if !On(word) {
		t.Skipf("set SNUG_E2E=%s to run this test", word)
	}
}

// On reports whether SNUG_E2E contains the word.
func On(word string) bool {
	return slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), word)
}

// Root is Need for a test that also requires root.
func Root(t testing.TB, word string) {
	t.Helper()
	Need(t, word)
	if uid := os.Geteuid(); uid != 0 {
		t.Fatalf("SNUG_E2E=%s needs root, this is uid %d", word, uid)
	}
}
