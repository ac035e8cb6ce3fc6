// SPDX-License-Identifier: Apache-2.0

// Package helm has the releases of Helm that tests use.
package helm

import (
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// Names are those of the releases: the oldest that the chart is for, which applies by a
// merge of its own, and a new one, which has the server do it.
var Names = []string{"helm3", "helm4"}

var sources = map[string]kubebuild.Source{
	"helm3": {
		Module: "helm.sh/helm/v3", Version: "v3.8.0", Folder: "helm-v3.8.0", LDFlags: "-s -w",
		Packages: map[string]string{"helm3": "helm.sh/helm/v3/cmd/helm"},
	},
	"helm4": {
		Module: "helm.sh/helm/v4", Version: "v4.3.1", Folder: "helm-v4.3.1", LDFlags: "-s -w",
		Packages: map[string]string{"helm4": "helm.sh/helm/v4/cmd/helm"},
	},
}

// Command returns the path of a release's command. It is built once and kept; that takes
// minutes.
func Command(t testing.TB, name string) string {
	t.Helper()
	return sources[name].Commands(t, name)[0]
}
