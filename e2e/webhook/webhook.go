// SPDX-License-Identifier: Apache-2.0

// Package webhook puts `snug webhook` beside a real API server, and looks at what becomes
// of pods while it is killed, restarted and renews its certificate.
package webhook

import (
	"testing"

	"github.com/snug-go/snug/e2e/kube"
)

// must fails the test unless the server did what it was asked for.
func must(t testing.TB, a kube.Answer) kube.Answer {
	t.Helper()
	if !a.OK() {
		t.Fatalf("%d %s", a.Code, a.Message())
	}
	return a
}
