// SPDX-License-Identifier: Apache-2.0

package kubebuild

import (
	_ "embed"
	"strings"
)

// KubernetesVersion is the release of Kubernetes that is built. The Go module proxy does not have
// the zip of every release.
const KubernetesVersion = "v1.36.3"

const (
	kubernetes, kwok = "k8s.io/kubernetes", "sigs.k8s.io/kwok"
	nfpm, cosign     = "github.com/goreleaser/nfpm/v2", "github.com/sigstore/cosign/v2"
	actionlint       = "github.com/rhysd/actionlint"
)

// Releases that tests use.
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
		// The modules of the staging directory are published with the same minor and patch version.
		Staged: staged(),
	}
	// Kwok simulates the kubelets of nodes that do not exist.
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
	// CEL evaluates what policies decide, in the API server's own environment.
	CEL = Source{
		Module: "k8s.io/apiserver", Version: staged(), Folder: "cel-" + staged(), LDFlags: "-s -w",
		Packages: map[string]string{"cel": commands},
		Main:     cel,
	}
	// These make and check a release.
	Nfpm = Source{
		Module: nfpm, Version: "v2.45.2", Folder: "nfpm-v2.45.2", LDFlags: "-s -w",
		Packages: map[string]string{"nfpm": nfpm + "/cmd/nfpm"},
	}
	Krew = Source{
		Module: "sigs.k8s.io/krew", Version: "v0.4.3", Folder: "krew-v0.4.3", LDFlags: "-s -w",
		Packages: map[string]string{
			"validate-krew-manifest": "sigs.k8s.io/krew/cmd/validate-krew-manifest",
			"kubectl-krew":           "sigs.k8s.io/krew/cmd/krew",
		},
	}
	Cosign = Source{
		Module: cosign, Version: "v2.6.1", Folder: "cosign-v2.6.1", LDFlags: "-s -w",
		Packages: map[string]string{"cosign": cosign + "/cmd/cosign"},
	}
	Actionlint = Source{
		Module: actionlint, Version: "v1.7.12", Folder: "actionlint-v1.7.12", LDFlags: "-s -w",
		Packages: map[string]string{"actionlint": actionlint + "/cmd/actionlint"},
	}
	// Otelcol is OpenTelemetry's Collector, which everyone puts together from its modules.
	Otelcol = Source{
		Module: "go.opentelemetry.io/collector/otelcol", Version: "v0.165.0", Folder: "otelcol-v0.165.0-scrapes", LDFlags: "-s -w",
		Packages: map[string]string{"otelcol": commands},
		Main:     otelcol,
		Tags:     "remove_all_sd", // of Prometheus, which else brings the clients of 25 clouds
		With: []string{
			"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter@v0.165.1",
			"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver@v0.165.1",
			"go.opentelemetry.io/collector/confmap/provider/yamlprovider@v1.71.0",
			"go.opentelemetry.io/collector/receiver/otlpreceiver@v0.165.0",
		},
	}
	All = []Source{Kubernetes, CEL, Kwok, Helm3, Helm4, Nfpm, Krew, Cosign, Actionlint, Otelcol}
)

//go:embed testdata/otelcol.go
var otelcol string

//go:embed testdata/cel.go
var cel string

func staged() string { return "v0." + strings.TrimPrefix(KubernetesVersion, "v1.") }

// Helms lists the commands of Helm: the oldest release that the chart supports, which merges on the
// client, and a new one, which uses server-side apply.
var Helms = []string{"helm3", "helm4"}

// versioned returns linker flags that drop symbols and set the version as Kubernetes' own build
// does (hack/lib/version.sh). The server's behaviour depends on that version.
func versioned() string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	const variable = " -X k8s.io/component-base/version."
	return "-s -w" + variable + "gitVersion=" + KubernetesVersion + variable + "gitMajor=" + major + variable + "gitMinor=" + minor
}
