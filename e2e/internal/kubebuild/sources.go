// SPDX-License-Identifier: Apache-2.0

package kubebuild

import "strings"

// KubernetesVersion is the release of Kubernetes whose commands are built. The Go module
// proxy has no zip of every release.
const KubernetesVersion = "v1.36.3"

const kubernetes, kwok = "k8s.io/kubernetes", "sigs.k8s.io/kwok"

// The releases that tests use.
var (
	Kubernetes = Source{
		Module: kubernetes, Version: KubernetesVersion, Folder: KubernetesVersion, LDFlags: versioned(),
		Packages: map[string]string{
			"kube-apiserver":          kubernetes + "/cmd/kube-apiserver",
			"kube-controller-manager": kubernetes + "/cmd/kube-controller-manager",
			"kube-scheduler":          kubernetes + "/cmd/kube-scheduler",
			"kubelet":                 kubernetes + "/cmd/kubelet",
			"kubectl":                 kubernetes + "/cmd/kubectl",
		},
		// The modules of its staging directory are published with the same number.
		Staged: "v0." + strings.TrimPrefix(KubernetesVersion, "v1."),
	}
	// Kwok plays the kubelets of nodes that are not there.
	Kwok = Source{
		Module: kwok, Version: "v0.8.0", Folder: "kwok-v0.8.0", LDFlags: "-s -w",
		Packages: map[string]string{"kwok": kwok + "/cmd/kwok"},
	}
	Helm3 = Source{
		Module: "helm.sh/helm/v3", Version: "v3.8.0", Folder: "helm-v3.8.0", LDFlags: "-s -w",
		Packages: map[string]string{"helm3": "helm.sh/helm/v3/cmd/helm"},
	}
	Helm4 = Source{
		Module: "helm.sh/helm/v4", Version: "v4.3.1", Folder: "helm-v4.3.1", LDFlags: "-s -w",
		Packages: map[string]string{"helm4": "helm.sh/helm/v4/cmd/helm"},
	}
	All = []Source{Kubernetes, Kwok, Helm3, Helm4}
)

// Helms are the commands of Helm: of the oldest release that the chart is for, which
// applies by a merge of its own, and of a new one, which has the server do it.
var Helms = []string{"helm3", "helm4"}

// versioned are linker flags that leave symbols out, and name the version as Kubernetes'
// own build does (hack/lib/version.sh): what the server says it is decides what it does.
func versioned() string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	const variable = " -X k8s.io/component-base/version."
	return "-s -w" + variable + "gitVersion=" + KubernetesVersion + variable + "gitMajor=" + major + variable + "gitMinor=" + minor
}
