// SPDX-License-Identifier: Apache-2.0

// Package kube runs a real Kubernetes API server for tests: built from
// Kubernetes' published Go module, with the etcd of Debian, on loopback and in a
// directory that the test removes. There is no kubelet, and without
// Options.Controllers no scheduler and no controller: what is created is admitted,
// defaulted, validated and stored, and nothing else happens to it.
package kube

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// Version is the release of Kubernetes whose commands are built. The Go module
// proxy has no zip of every release.
const Version = "v1.36.3"

// module is the Go module of all of Kubernetes' commands.
const module = "k8s.io/kubernetes"

// Commands returns the paths of commands of Kubernetes ("kube-apiserver",
// "kubelet", "kubectl"), in their order. They are built once and kept; a first
// build takes minutes.
func Commands(t testing.TB, names ...string) []string {
	t.Helper()
	packages := map[string]string{}
	for _, name := range names {
		packages[name] = module + "/cmd/" + name
	}
	return kubebuild.Source{
		Module: module, Version: Version, Folder: Version, Packages: packages, LDFlags: ldflags(),
		// The modules of its staging directory are published with the same number.
		Staged: "v0." + strings.TrimPrefix(Version, "v1."),
	}.Commands(t, names...)
}

// ldflags leave symbols out, and name the version as Kubernetes' own build does
// (hack/lib/version.sh): what the server says it is decides what it does.
func ldflags() string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(Version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	const variable = " -X k8s.io/component-base/version."
	return "-s -w" + variable + "gitVersion=" + Version + variable + "gitMajor=" + major + variable + "gitMinor=" + minor
}
